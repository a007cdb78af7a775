print("no GPU here")

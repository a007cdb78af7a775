"""Fetches source archives from a package index and unpacks them.

usage: source_archives.py INDEX FOLDER [ARCHIVE SHA256] ...
"""
import hashlib, os, re, sys, tarfile
from urllib.parse import urljoin
from urllib.request import urlopen

index, folder, *wanted = sys.argv[1:]
for archive, sum in zip(wanted[::2], wanted[1::2]):
    name = archive.removesuffix(".tar.gz")
    if os.path.isdir(f"{folder}/{name}"):
        continue
    page = f"{index.rstrip('/')}/{name.rsplit('-', 1)[0]}/"
    links = re.findall(r'href="([^"]+)"', urlopen(page).read().decode())
    link = next((link for link in links if link.split("#")[0].endswith("/" + archive)), None)
    if link is None:
        sys.exit(f"{page} does not list {archive}")
    content = urlopen(urljoin(page, link.split("#")[0])).read()
    if hashlib.sha256(content).hexdigest() != sum:
        sys.exit(f"{archive} is not the file whose sum is known")
    with open(f"{folder}/{archive}", "wb") as file:
        file.write(content)
    with tarfile.open(f"{folder}/{archive}") as tar:
        tar.extractall(folder, filter="data")

#!/bin/sh
# Writes the files here, by ffmpeg with libopus, libvorbis and libmp3lame: a tone that rises from 300 Hz, whose
# samples the tests know, 0.3 s of it and 0.2 s.
set -e
tone() { # seconds, rate, channels
    echo "-f lavfi -i aevalsrc=0.4*sin(2*PI*(300*t+1500*t*t)):s=$2:d=$1:c=$3"
}
run() { ffmpeg -v error -y "$@"; }
run $(tone 0.3 48000 mono) -c:a libopus -b:a 48k -bitexact tone.opus
run $(tone 0.2 48000 mono) -c:a libopus -b:a 40k -application lowdelay -bitexact second.opus
cat tone.opus second.opus > chained.opus
run $(tone 0.3 48000 mono) -af 'pan=5.1|FL=c0|FR=-1*c0|FC=0.5*c0|LFE=0*c0|BL=0.25*c0|BR=-0.5*c0' \
    -c:a libopus -b:a 256k -mapping_family 1 -bitexact surround.opus
run $(tone 0.3 44100 mono) -c:a libvorbis -q:a 4 -bitexact tone.ogg
run $(tone 0.2 44100 mono) -c:a libvorbis -q:a 2 -bitexact second.ogg
cat tone.ogg second.ogg > chained.ogg
run $(tone 0.3 48000 mono) -c:a libopus -b:a 48k -bitexact tone.webm
run $(tone 0.3 44100 mono) -c:a libvorbis -q:a 4 -bitexact tone.mka
run $(tone 0.3 44100 mono) -c:a libmp3lame -b:a 64k tone.mp3
run $(tone 0.3 44100 mono) -c:a aac -b:a 64k -bitexact -movflags +faststart tone.m4a
rm second.opus second.ogg tone.ogg

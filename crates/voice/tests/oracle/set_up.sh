#!/bin/sh
# Installs the peers into target/voice-oracle and fetches the recordings with human speech labels
# into target/voice-data. Tests that need them are ignored where they are missing.
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

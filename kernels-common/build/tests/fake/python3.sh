#!/bin/sh
# Stands in for python3: `-m venv DIRECTORY` makes an environment whose python is this script again, and
# `-m pip install …` there puts the toolkit of stand-ins that FAKE_TOOLKIT names into it.
case $2 in
    venv)
        mkdir -p "$3/bin"
        cp "$0" "$3/bin/python3"
        ;;
    pip)
        to=$(dirname "$0")/../lib/python3/site-packages/nvidia/cu0
        mkdir -p "$to"
        cp -R "$FAKE_TOOLKIT/bin" "$to/bin"
        ;;
    *) exit 1 ;;
esac

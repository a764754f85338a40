"""Run a command for as long as whoever started this keeps our standard input open: `guard.py COMMAND ARGUMENT…`.

A process that is killed closes its pipes and can do nothing else, so this is what ends its emulators with it.
"""

import subprocess
import sys
from threading import Thread


def main(command: list[str]) -> int:
    """The command's exit code, also after it was killed because our input ended."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def watch() -> None:
        sys.stdin.buffer.read()
        process.kill()

    Thread(target=watch, daemon=True).start()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""npm_packages.py FOLDER: fetches the packages that tests need (devDependencies of package.json) into
FOLDER/node_modules, once for each lock file; their scripts are not run."""
import filecmp
import os
import shutil
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SKIPPED = 77


def main():
    folder = sys.argv[1]
    npm = shutil.which("npm")
    if not npm:
        print("SKIP: no npm here")
        sys.exit(SKIPPED)
    os.makedirs(folder, exist_ok=True)
    lock, fetched = (os.path.join(folder, name) for name in ("package-lock.json", "fetched-lock.json"))
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(os.path.join(TOP, name), folder)
    if os.path.exists(fetched) and filecmp.cmp(lock, fetched, shallow=False):
        print("they are there")
        return
    done = subprocess.run([npm, "ci", "--ignore-scripts"], cwd=folder, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(f"SKIP: npm could not fetch the packages of package-lock.json:\n{done.stdout}")
        sys.exit(SKIPPED)
    shutil.copy(lock, fetched)


if __name__ == "__main__":
    main()

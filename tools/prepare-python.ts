/**
 * `node tools/prepare-python.ts [name …]`: installs the Python environments of the tests, all of them without a name.
 * Without Python the tests are not run, and this says why; in continuous integration, where they must be, it fails.
 */
import { preparePython, pythonEnvironments } from './python-environment.ts';

const names = process.argv.slice(2);
for (const [name, options] of Object.entries(pythonEnvironments)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const environment = await preparePython(options);
  if ('missing' in environment) {
    process.stdout.write(`not run: ${environment.missing}\n`);
    if (process.env.CI !== undefined) process.exitCode = 1;
  } else {
    process.stdout.write(`${name} for ${environment.python}\n`);
  }
}

/**
 * Prepares the Python side of the tests, for `pnpm verify` to do before the tests. Without Python they are not
 * run, and this says why; in continuous integration, where they must be, it fails.
 */
import { preparePython, pythonEnvironments } from './python-environment.ts';

for (const [name, options] of Object.entries(pythonEnvironments)) {
  const environment = await preparePython(options);
  if ('missing' in environment) {
    process.stdout.write(`not run: ${environment.missing}\n`);
    if (process.env.CI !== undefined) process.exitCode = 1;
  } else {
    process.stdout.write(`${name} for ${environment.python}\n`);
  }
}

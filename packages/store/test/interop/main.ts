/**
 * Prepares the Python side of the interop tests, for `pnpm verify` to do before the tests. Without Python they are not
 * run, and this says why; in continuous integration, where they must be, it fails.
 */
import { preparePython } from './python-environment.ts';

const environment = await preparePython();
if ('missing' in environment) {
  process.stdout.write(`not run: ${environment.missing}\n`);
  if (process.env.CI !== undefined) process.exitCode = 1;
} else {
  process.stdout.write(`agentlightning 0.3.0 for ${environment.python}\n`);
}

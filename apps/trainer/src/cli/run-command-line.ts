/**
 * `agl` runs in the process that was started, with the caller's flags of V8. With a larger young generation
 * (`--max-semi-space-size`) a gateway with 64 calls in flight needs 13 % less processor time, but V8 reads the flag only at
 * start-up. Executing itself again with it depended on `process.execve` (not on Windows), replaced the process behind
 * supervisors and debuggers, and discarded the caller's flags silently where detection failed. Deployments set `NODE_OPTIONS`
 * themselves.
 *
 * @module
 */
import { runCommandLine } from './command-line.ts';
import { exitCodes } from './exit-code.ts';

/** Grace period for open handles of agents, such as connections, after the command has finished, in milliseconds. */
const lingerMs = 1000;

// `agl runs | head`: the reader has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.brokenPipe);
  process.stderr.write(`error: standard output cannot be written: ${error.message}\n`);
  process.exit(exitCodes.failed);
});

process.exitCode = await runCommandLine(process.argv.slice(2));
setTimeout(() => process.exit(), lingerMs).unref();

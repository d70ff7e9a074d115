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

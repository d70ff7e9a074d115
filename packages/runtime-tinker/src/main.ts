/**
 * The runtime over a Tinker server as a process: `main.js --server https://… --model Qwen/Qwen3-4B --key-file run.key`, with the server's key in
 * `TINKER_API_KEY`. Its first line of output is `{"type":"ready","address":…,"inference":…}`. It ends when its standard input ends, or when the server has
 * lost its models.
 *
 * @module
 */
import { runRuntimeProcess } from '@agentlightning/runtime/internal/serving';
import { environmentVariables } from './environment.ts';
import { readProcessOptions } from './process-flags.ts';
import { startTinkerRuntime } from './start-tinker-runtime.ts';

await runRuntimeProcess((args) =>
  startTinkerRuntime({
    ...readProcessOptions(args, environmentVariables()),
    onLost: ({ message, remedy }) => {
      process.stderr.write(`${message}. ${remedy}\n`, () => process.exit(1));
    },
  }),
);

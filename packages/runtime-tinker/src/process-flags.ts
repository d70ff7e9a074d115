import { parseFlags, serverFlags, serverOptionsOf, wrongFlag } from '@agentlightning/runtime/internal/serving';
import type { TinkerRuntimeOptions } from './start-tinker-runtime.ts';

const flagOptions = {
  dir: { type: 'string', default: '.agl/checkpoints' },
  server: { type: 'string' },
  model: { type: 'string' },
  tokenizer: { type: 'string' },
  ...serverFlags,
} as const;

/**
 * The options of the runtime's process: the flags of every runtime, and
 *
 * - `--server`: address of the Tinker server; required
 * - `--model`: the base model; required
 * - `--tokenizer`: folder of tokenizer and chat template, the model's in the hub's cache by default
 * - `--dir`: parent folder of checkpoints, `.agl/checkpoints` by default
 *
 * The key of the server is in the variable `TINKER_API_KEY`, since a command line is visible to every user.
 *
 * @throws AgentLightningError CONFIG when a flag is unknown or its value is invalid
 */
export function readProcessOptions(args: readonly string[], environment: NodeJS.ProcessEnv): TinkerRuntimeOptions {
  const flags = parseFlags(args, flagOptions);
  const { server, model, tokenizer, dir } = flags;
  const serverKey = environment['TINKER_API_KEY'] ?? '';
  if (server === undefined) throw wrongFlag('--server is missing', 'Pass the address of a Tinker server.');
  if (model === undefined) throw wrongFlag('--model is missing', 'Pass the name of a base model of the server.');
  if (serverKey === '') throw wrongFlag('TINKER_API_KEY is not set', 'Set it to the key of the Tinker server.');
  return {
    serverUrl: server,
    serverKey,
    model,
    ...(tokenizer === undefined ? {} : { tokenizer }),
    checkpointDir: dir,
    ...serverOptionsOf(flags),
  };
}

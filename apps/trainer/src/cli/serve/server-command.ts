import { type Command, Option } from 'commander';
import { durationMs } from '../duration-flag.ts';
import { wholeNumber } from '../number-flag.ts';
import type { ServerFlags } from './run-server.ts';

const help = `
One port serves the store (/v1/agl), the gateway (/v1, /rollout), the runs (/v1/server), the dashboard (/) and /healthz.
Clients (@agentlightning/client) create runs and run their agents; runs are trained here, one after the other.

The key of the server is created in the data directory, in server-key, unless AGL_SERVER_KEY has one. \`agl store keys create
--store sqlite:<data>/agl.db\` makes keys that may do less. AGL_TOKEN_SECRET signs the tokens of attempts, AGL_RUNTIME_KEY and
AGL_INFERENCE_KEY are the keys of the runtime of --runtime.

SIGTERM stops the current run after its operation, and lets calls end; the next start continues the unfinished runs.

Examples:
  $ agl server                                      the embedded runtime, in .agl/server
  $ AGL_RUNTIME_KEY=… agl server --runtime localhost:50051 --model Qwen/Qwen3-4B --gpus 1
  $ agl server --host 0.0.0.0 --data /var/lib/agl   for clients on other machines: put a proxy with TLS in front of it`;

/** Adds `agl server`. */
export function addServerCommand(program: Command): void {
  program
    .command('server')
    .description('Serve training: store, gateway, runtime and dashboard behind one port, and a queue of runs.')
    .option('--host <host>', 'the address to bind to', '127.0.0.1')
    .option('--port <n>', 'the port; 0 takes any free one', wholeNumber({ min: 0, max: 65535 }), 4747)
    .option('--data <folder>', 'the folder of data, checkpoints and the key', '.agl/server')
    .option('--store <url>', 'the database of the store: sqlite:<file> or postgres://… (default: a file in --data)')
    .option('--runtime <address>', 'host:port of a running training runtime (default: the embedded one)')
    .option('--model <name>', 'the base model of the runtime (default: its first one)')
    .option('--gpus <n>', 'require a runtime with GPUs', wholeNumber({ min: 0 }))
    .option('--algorithm <name>', 'the algorithm of runs that name none', 'grpo')
    .addOption(
      new Option('--drain <time>', 'how long calls and the current operation may take when it is stopped')
        .argParser(durationMs)
        .default(30_000, '30s'),
    )
    .addHelpText('after', help)
    .action(async (flags: ServerFlags) => {
      const { runServer } = await import('./run-server.ts');
      await runServer(flags);
    });
}

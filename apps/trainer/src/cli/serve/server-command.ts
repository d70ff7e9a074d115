import type { Command } from 'commander';
import type { SettingFlags } from './load-settings.ts';
import { addSettingFlags } from './setting-flags.ts';

const help = `
One port serves the store (/v1/agl), the gateway (/v1, /rollout), the runs (/v1/server), the dashboard (/) and /healthz.
Clients (@agentlightning/client) create runs and run their agents; runs are trained here, one after the other.

The runtime is that of --runtime; else the GPU runtime, which the server starts when --runtime-python or --gpus is given, or the model is
not one of the embedded runtime; else the embedded one.

The key of the server is created in the data directory, in server-key, unless AGL_SERVER_KEY has one. \`agl keys create --data
<data>\` creates keys with fewer rights. AGL_TOKEN_SECRET signs the tokens of attempts, AGL_RUNTIME_KEY and
AGL_INFERENCE_KEY are the keys of the runtime of --runtime.

A setting is taken from its flag, else its environment variable, else the file of --config, else the default.
\`agl config print\` shows where each value came from.

SIGTERM stops the current run after its operation, and lets calls end; the next start continues the unfinished runs.

Examples:
  $ agl server                                      the embedded runtime, in .agl/server
  $ agl server --model Qwen/Qwen3-4B --gpus 4       the GPU runtime, installed for python3 (--runtime-python <file>)
  $ AGL_RUNTIME_KEY=… agl server --runtime localhost:50051 --model Qwen/Qwen3-4B
  $ AGL_MODEL=tiny-chat agl server --config config.yaml
  $ agl server --host 0.0.0.0 --data /var/lib/agl   for clients on other machines: put a proxy with TLS in front of it`;

/** Adds `agl server`. */
export function addServerCommand(program: Command): void {
  const command = program
    .command('server')
    .description('Serve training: store, gateway, runtime and dashboard behind one port, and a queue of runs.');
  addSettingFlags(command)
    .addHelpText('after', help)
    .action(async (flags: SettingFlags) => {
      const { runServer } = await import('./run-server.ts');
      await runServer(flags);
    });
}

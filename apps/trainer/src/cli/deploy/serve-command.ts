import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { addGatewayFlags, storeHelp } from '../flags.ts';
import type { ServeFlags } from './run-serve.ts';

const help = `
Examples:
  A trained policy under a stable name, by the embedded runtime; applications call it with model: 'support-agent':
    $ agl serve run-1a2b3c4d@best --as support-agent
  The versions that \`agl deploy\` makes live or candidates, also several deployments in one gateway:
    $ agl serve support-agent search-agent
  By a GPU runtime, for other machines:
    $ AGL_GATEWAY_KEY=… AGL_RUNTIME_KEY=… agl serve support-agent --runtime gpu-1:50051 --host 0.0.0.0
  A version that is the model of an endpoint with a key:
    $ OPENAI_API_KEY=… agl serve support-agent --key-env OPENAI_API_KEY

Each call is recorded as a trace of the deployment, in the background. The header x-rollout-id of a response is the id for feedback;
x-agl-deployment-version is the version. A user stays with one version: x-agl-user, or safety_identifier, user or metadata.user_id of
the request; where the user is unknown, x-agl-conversation or metadata.conversation_id.

AGL_GATEWAY_KEY is the key that applications send; an address other than this machine requires one. AGL_STORE_KEY is for the store.`;

/** Adds `agl serve`. */
export function addServeCommand(program: Command): void {
  const command = program
    .command('serve')
    .description('Serve deployments behind a gateway: their names are models of the OpenAI API.')
    .argument('<target...>', 'deployments, or one version such as run-1a2b@best')
    .option('--as <deployment>', 'the name of the deployment of a version')
    .option('--runtime <address>', 'host:port of a running runtime that has the checkpoints (default: that of the run)')
    .option('--data-dir <folder>', 'folder of run data, for the embedded runtime (default: that of the store)')
    .option('--key-env <name...>', 'environment variables that may be sent to endpoints as their keys')
    .option('--store <url>', storeHelp, defaultStoreUrl);
  addGatewayFlags(command)
    .addHelpText('after', help)
    .action(async (targets: readonly string[], flags: ServeFlags) => {
      const { runServe } = await import('./run-serve.ts');
      await runServe(targets, flags);
    });
}

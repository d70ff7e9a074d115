import { type Command, InvalidArgumentError, Option } from 'commander';
import { addGatewayFlags, durationMs, storeHelp, wholeNumber } from '../flags.ts';
import { tokenSecretHelp } from './attempt-token-secret.ts';
import type { GatewayFlags } from './run-gateway.ts';

const help = `
Addresses for agents: each attempt has its own base URL, which the runner passes to the agent:
  http://<host>:<port>/rollout/<rollout>/attempt/<attempt>/v1          (Agent Lightning 0.3)
  http://<host>:<port>/proxy/rollout/<r>/attempt/<a>/mode/train/openai/v1   (1.0)
Calls to http://<host>:<port>/v1 do not belong to an attempt: they are forwarded unchanged and recorded separately.

Examples:
  A model server on this machine, and a store in a file:
    $ agl gateway --store sqlite:.agl/agl.db --upstream http://localhost:8000/v1 --model Qwen/Qwen3-4B
  Two servers of one model, at most 32 calls at a time each; a rollout stays with the one that knows its prompts:
    $ AGL_TOKEN_SECRET=… agl gateway --store http://store:4747 --upstream http://gpu-1:8000/v1 http://gpu-2:8000/v1 --max-concurrent 32
  A model API without token ids, for prompt search:
    $ AGL_UPSTREAM_KEY=sk-… agl gateway --store sqlite:.agl/agl.db --upstream https://api.openai.com/v1 --text
  For other machines, where every agent speaks for its own attempt only:
    $ AGL_TOKEN_SECRET=… AGL_GATEWAY_ADMIN_KEY=… agl gateway --host 0.0.0.0 --store … --upstream …
  Instead of Python's agl-server 1.0, whose trainer registers the models:
    $ AGL_GATEWAY_ADMIN_KEY=… agl gateway --store sqlite:.agl/agl.db --agl-server

While it runs:
  GET /health     everybody: is it paused, which models are up, do they give token ids
  GET /metrics    for Prometheus; with a key where there is one
  /admin/…        with the admin key: upstreams (GET, POST, DELETE ?id=), pause, resume, state
  SIGTERM         takes no more calls (429, Retry-After), lets those under way end for --drain, then stops

Keys, from the environment:
  AGL_GATEWAY_KEY        for calls outside of attempts; the address of an attempt requires its token
  AGL_GATEWAY_ADMIN_KEY  for operators, and for the trainer and controller of the 1.0 protocol
  AGL_UPSTREAM_KEY       for the model servers of --upstream; entries of --upstreams name their own variables
  AGL_STORE_KEY          for the store
${tokenSecretHelp}
Without AGL_GATEWAY_KEY and AGL_TOKEN_SECRET, attempt tokens are signed with a random secret: attempt-secret in the folder
of the store's file. With a remote store, the gateway does not start without a key or a secret.
AGL_LOG_LEVEL=debug logs every call, with ids that join it with the client's and the model server's logs (x-request-id).

A file for --upstreams:
  [{ "baseUrl": "http://gpu-1:8000/v1", "model": "Qwen/Qwen3-4B", "maxConcurrent": 32, "healthPath": "/health" },
   { "baseUrl": "https://api.openai.com/v1", "model": "gpt-4.1-mini", "capture": "text", "apiKey": { "env": "OPENAI_API_KEY" } }]`;

/** Adds `agl gateway`. */
export function addGatewayCommand(program: Command): void {
  const command = program
    .command('gateway')
    .description('Serve the gateway: a model proxy that records every call with its token ids.')
    .requiredOption('--store <url>', `where calls are recorded: ${storeHelp}`)
    .option('--upstream <url...>', 'the model servers, up to and with /v1')
    .option('--upstreams <file>', 'model servers with separate keys or limits, as JSON (see below)')
    .option('--model <name>', "the model's name at --upstream; the agent's own when absent")
    .option('--text', 'request no token ids from --upstream: for model APIs that reject unknown fields', false)
    .option(
      '--max-concurrent <n>',
      'concurrent calls per --upstream; further calls are queued',
      wholeNumber({ min: 1 }),
    )
    .option('--max-in-flight <n>', 'calls in flight; further calls get 429', wholeNumber({ min: 1 }), 4096)
    .addOption(
      new Option('--upstream-timeout <time>', 'idle timeout within a response of a model server')
        .argParser(durationMs)
        .default(600_000, '10m'),
    )
    .addOption(
      new Option(
        '--first-byte-timeout <time>',
        'timeout of the first byte of a response; then the call fails over to another server (default: --upstream-timeout)',
      ).argParser(durationMs),
    )
    .option('--train-temperature <t>', "replaces the agent's, for training", temperature)
    .option('--val-temperature <t>', "replaces the agent's, for validation and tests", temperature)
    .addOption(
      new Option('--durability <mode>', 'whether a response waits for its record')
        .choices(['before-response', 'background'])
        .default('before-response'),
    )
    .option('--pass-unattributed-calls', 'do not record calls without an attempt', false)
    .option('--secret-field <name...>', 'additional fields of request bodies to redact in records')
    .option('--agl-server', "also serve the routes of Python's agl-server 1.0; models may be registered later", false)
    .option('--allow-unauthenticated', 'accept calls of this machine without a token or key', false);
  addGatewayFlags(command)
    .addHelpText('after', help)
    .action(async (flags: GatewayFlags) => {
      const { runGateway } = await import('./run-gateway.ts');
      await runGateway(flags);
    });
}

function temperature(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 2) return value;
  throw new InvalidArgumentError(`"${text}" is not a number from 0 to 2.`);
}

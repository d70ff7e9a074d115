import path from 'node:path';
import type { ServerSecrets, ServerSettings } from '../../server/server-settings.ts';
import { startServer, type TrainingServer } from '../../server/start-server.ts';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** The flags of `agl server`. */
export interface ServerFlags {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly store?: string;
  readonly runtime?: string;
  readonly model?: string;
  readonly gpus?: number;
  readonly algorithm: string;
  /** Milliseconds. */
  readonly drain: number;
}

/** Serves training until the process is stopped. */
export async function runServer(flags: ServerFlags): Promise<void> {
  const log = serverLog('agl-server');
  const server = await startServer({ settings: settingsOf(flags), secrets: secretsOf(process.env), log });
  const { url, keyFile, device } = server;
  log.info({ url, device, keyFile }, 'server is up');
  // Before the ready line, after which a signal may arrive.
  const stopped = untilStopped(async () => {
    log.info({ drainMs: flags.drain }, 'server is stopping');
    await server.close(flags.drain);
  });
  process.stderr.write(introduction(server));
  process.stdout.write(`${JSON.stringify({ event: 'ready', url, keyFile, device })}\n`);
  await stopped;
  log.info('server has stopped');
}

function introduction({ url, keyFile, device }: TrainingServer): string {
  const key = keyFile === null ? 'the value of AGL_SERVER_KEY' : `in ${keyFile}`;
  const read = keyFile === null ? 'process.env.AGL_SERVER_KEY' : `readFileSync('${keyFile}', 'utf8')`;
  return `
Server: ${url} (dashboard at the same address), runtime on ${device}
Key:    ${key}

  import { AgentLightningClient } from '@agentlightning/client';
  const client = new AgentLightningClient({ url: '${url}', apiKey: ${read} });
  const data = await client.uploadData({ train, test });
  const run = await client.train(agent, { data, workers: 4, steps: 60 });
  console.log(await run.result());

`;
}

function settingsOf({ store, runtime, model, gpus, algorithm, ...flags }: ServerFlags): ServerSettings {
  return {
    host: flags.host,
    port: flags.port,
    data: path.resolve(flags.data),
    store: store ?? null,
    runtime: runtime ?? null,
    model: model ?? null,
    gpus: gpus ?? null,
    defaults: { algorithm: algorithm as ServerSettings['defaults']['algorithm'] },
  };
}

function secretsOf(environment: NodeJS.ProcessEnv): ServerSecrets {
  return {
    serverKey: environment['AGL_SERVER_KEY'] || null,
    tokenSecret: environment['AGL_TOKEN_SECRET'] || null,
    runtimeKey: environment['AGL_RUNTIME_KEY'] || null,
    inferenceKey: environment['AGL_INFERENCE_KEY'] || null,
  };
}

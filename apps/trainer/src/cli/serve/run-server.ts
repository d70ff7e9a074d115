import path from 'node:path';
import { type CommandTelemetry, withTelemetry } from '../../metrics/command-telemetry.ts';
import type { ServerSecrets } from '../../server/server-folder.ts';
import { startServer, type TrainingServer } from '../../server/start-server.ts';
import { durationMs } from '../flags.ts';
import { loadSettings, type SettingFlags } from './load-settings.ts';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** Serves training until the process is stopped. */
export async function runServer(flags: SettingFlags): Promise<void> {
  await withTelemetry('agl-server', (telemetry) => runWith(flags, telemetry));
}

async function runWith(flags: SettingFlags, { registry, logStream }: CommandTelemetry): Promise<void> {
  const { settings } = await loadSettings(flags);
  const drainMs = durationMs(settings.drain);
  const log = serverLog('agl-server', logStream);
  const server = await startServer({
    settings: { ...settings, data: path.resolve(settings.data) },
    secrets: secretsOf(process.env),
    log,
    registry,
  });
  const { url, keyFile, device } = server;
  log.info({ url, device, keyFile }, 'server is up');
  // Before the ready line, after which a signal may arrive.
  const stopped = untilStopped(async () => {
    log.info({ drainMs }, 'server is stopping');
    await server.close(drainMs);
  });
  process.stderr.write(introduction(server));
  process.stdout.write(`${JSON.stringify({ type: 'ready', url, keyFile, device })}\n`);
  await stopped;
  log.info('server has stopped');
}

function introduction({ url, keyFile, device }: TrainingServer): string {
  const key = keyFile === null ? 'the value of AGL_SERVER_KEY' : `in ${keyFile}`;
  const read = keyFile === null ? 'process.env.AGL_SERVER_KEY' : `readFileSync('${keyFile}', 'utf8')`;
  return `
Server: ${url} (dashboard at the same address), runtime on ${device}
Key:    ${key}

  import { AgentLightningClient } from '@agentlightning/client';${keyFile === null ? '' : "\n  import { readFileSync } from 'node:fs';"}
  const client = new AgentLightningClient({ url: '${url}', apiKey: ${read} });
  const data = await client.uploadData({ train, test });
  const run = await client.train(agent, { data, concurrency: 4, steps: 60 });
  console.log(await run.result());

`;
}

function secretsOf(environment: NodeJS.ProcessEnv): ServerSecrets {
  return {
    serverKey: environment['AGL_SERVER_KEY'] || null,
    workerKey: environment['AGL_WORKER_KEY'] || null,
    tokenSecret: environment['AGL_TOKEN_SECRET'] || null,
    runtimeKey: environment['AGL_RUNTIME_KEY'] || null,
    inferenceKey: environment['AGL_INFERENCE_KEY'] || null,
  };
}

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningError, type Store } from '@agentlightning/core';
import { addressText, systemClock } from '@agentlightning/core/internal';
import type { pino } from 'pino';
import { JobController } from '../../kubernetes/job-controller.ts';
import { readJobTemplate } from '../../kubernetes/job-template.ts';
import { type KubernetesAccess, KubernetesClient } from '../../kubernetes/kubernetes-client.ts';
import { withTelemetry } from '../../metrics/command-telemetry.ts';
import { waitForStore } from '../../runtime/wait-for-store.ts';
import { serverLog } from './server-log.ts';

/** The flags of `agl kubernetes-runner`. */
export interface KubernetesRunnerFlags {
  readonly store: string;
  readonly jobTemplate: string;
  readonly name: string;
  readonly run?: string;
  readonly maxJobs: number;
  readonly rolloutsPerJob: number;
  /** Milliseconds. */
  readonly idle: number;
  /** Milliseconds. */
  readonly interval: number;
  readonly api?: string;
  readonly namespace?: string;
  /** Milliseconds. */
  readonly wait: number;
}

/** Where Kubernetes mounts the credentials of a pod. */
const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The longest name leaves room for the number of a Job in a label of 63 characters. */
const namePattern = /^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$/;

/** Creates Jobs until the process is stopped, then deletes the active ones. */
export async function runKubernetesRunner(flags: KubernetesRunnerFlags): Promise<void> {
  const name = 'agl-kubernetes-runner';
  await withTelemetry(name, ({ logStream }) => runController(flags, serverLog(name, logStream)));
}

async function runController(flags: KubernetesRunnerFlags, log: pino.Logger): Promise<void> {
  checkName(flags.name);
  const template = await readJobTemplate(flags.jobTemplate);
  const access = accessOf(flags);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  let store: Store | null = null;
  try {
    const wait = { timeoutMs: flags.wait, onWait: (message: string) => log.warn(message), signal: stop.signal };
    const location = { url: flags.store, apiKey: process.env['AGL_STORE_KEY'] ?? null };
    store = await waitForStore(location, wait);
    const controller = new JobController({
      ...flags,
      store,
      kubernetes: new KubernetesClient(access),
      template,
      runId: flags.run ?? null,
      idleMs: flags.idle,
      intervalMs: flags.interval,
      log,
      clock: systemClock,
    });
    log.info({ store: addressText(flags.store), api: access.url, namespace: access.namespace }, 'controller is up');
    process.stdout.write(`${JSON.stringify({ type: 'ready', namespace: access.namespace })}\n`);
    await controller.run(stop.signal);
    log.info('controller has stopped');
  } catch (error) {
    // Stopped while it waited.
    if (store !== null || !stop.signal.aborted) throw error;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    await store?.close();
  }
}

function checkName(name: string): void {
  if (namePattern.test(name)) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `--name is not a name for Jobs: "${name}"`,
    remedy: 'Use at most 52 lower-case letters, digits and hyphens, beginning with a letter.',
  });
}

/** The given API, else that of the cluster of this pod. */
function accessOf({ api, namespace }: KubernetesRunnerFlags): KubernetesAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  if (api !== undefined) {
    if (URL.canParse(api)) return { url: api, namespace: namespace ?? 'default', credentials: null };
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `--api is not a URL: "${api}"`,
      remedy: 'Pass the address that `kubectl proxy` prints, with http://.',
    });
  }
  if (host === undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'This process is not in a pod of Kubernetes: KUBERNETES_SERVICE_HOST is not set',
      remedy: 'Start `kubectl proxy`, and pass its address: --api http://127.0.0.1:8001.',
    });
  }
  const credentials = serviceAccount;
  const address = host.includes(':') ? `[${host}]` : host;
  return {
    url: `https://${address}:${port}`,
    namespace: namespace ?? readFileSync(path.join(credentials, 'namespace'), 'utf8').trim(),
    credentials,
  };
}

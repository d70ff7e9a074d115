import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runAgl } from '../agl-command.ts';
import { describeWithKubernetes } from './describe-with-kubernetes.ts';
import type { KubernetesObject } from './kubernetes-tools.ts';
import { type ConfigMap, jobTemplatesOf, podsOf, referencesOf } from './pods.ts';

/** Helm is started for each test, on a machine that may be busy. */
vi.setConfig({ testTimeout: 60_000 });

const chart = path.resolve(import.meta.dirname, '../../deploy/helm/agentlightning');

/** Values that each enable something. */
const options: Readonly<Record<string, readonly string[]>> = {
  'default values': [],
  'PostgreSQL of the chart': ['postgresql.enabled=true', 'podDisruptionBudget.blockEviction=true'],
  'PostgreSQL elsewhere': ['externalDatabase.existingSecret=database'],
  'runners as a Deployment': [
    'runners.mode=deployment',
    'runners.extraEnv[0].name=A',
    'runners.extraEnv[0].value=text',
  ],
  'runners as Jobs': ['runners.mode=jobs', 'runners.serverUrl=https://training.example'],
  'GPU runtime': ['gpuRuntime.enabled=true', 'gpuRuntime.gpus=4'],
  'ingress with TLS': ['ingress.enabled=true', 'ingress.host=training.example', 'ingress.tlsSecret=certificate'],
  'existing secrets and volume': [
    'keys.existingSecret=keys',
    'gpuRuntime.enabled=true',
    'gpuRuntime.tlsSecret=certificate',
    'runners.mode=deployment',
    'runners.keySecret.name=worker-key',
    'server.persistence.existingClaim=data',
  ],
  'all of it': [
    'postgresql.enabled=true',
    'gpuRuntime.enabled=true',
    'runners.mode=jobs',
    'ingress.enabled=true',
    'ingress.host=training.example',
    'server.ingressFrom[0].podSelector.matchLabels.app=client',
    'server.config.model=Qwen/Qwen3-4B',
    'server.config.steps=60',
    'nameOverride=training',
    'podLabels.team=research',
    'imagePullSecrets[0].name=registry',
  ],
};

/** What exists outside of the chart. */
const existing = new Set([
  'Secret/database',
  'Secret/certificate',
  'Secret/keys',
  'Secret/worker-key',
  'PersistentVolumeClaim/data',
]);

/** Values that are refused, and what the message contains. */
const refused: Readonly<Record<string, readonly string[]>> = {
  'sevrer.drainSeconds=5': ["additional properties 'sevrer' not allowed"],
  'server.drainSeconds=soon': ["'/server/drainSeconds': got string, want integer"],
  'runners.mode=job': ["'/runners/mode': value must be one of 'none', 'deployment', 'jobs'"],
  'runners.jobs.maxJobs=0': ["'/runners/jobs/maxJobs': minimum: got 0, want 1"],
  'gpuRuntime.gpus=0': ["'/gpuRuntime/gpus': minimum: got 0, want 1"],
  'server.persistence.size=20 GB': ["'/server/persistence/size'", 'does not match pattern'],
  'runners.serverUrl=training.example': ["'/runners/serverUrl'", 'does not match pattern'],
  'ingress.enabled=true': ['ingress.host is empty. Set it to the public name of the server'],
  'runners.mode=jobs,runners.jobs.ttlSecondsAfterFinished=60': ['ttlSecondsAfterFinished is 60. Set it above 300'],
  'postgresql.enabled=true,externalDatabase.existingSecret=x': ['Remove one: the server has one database.'],
};

await describeWithKubernetes('Helm chart', ({ helm, schemas }) => {
  const render = (values: readonly string[]) =>
    spawnSync(
      helm,
      ['template', 'demo', chart, '--namespace', 'training', ...values.flatMap((each) => ['--set', each])],
      {
        encoding: 'utf8',
      },
    );

  const manifests = (values: readonly string[]): readonly KubernetesObject[] => {
    const { status, stdout, stderr } = render(values);
    expect(status, stderr).toBe(0);
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as KubernetesObject | null)
      .filter((object) => object !== null);
  };

  test.each(Object.keys(options))('%s: the manifests are valid, complete, and without privileges', (name) => {
    const objects = manifests(options[name] ?? []);
    for (const object of [...objects, ...jobTemplatesOf(objects)]) {
      expect({ [object.kind]: schemas.problems(object) }).toEqual({ [object.kind]: [] });
    }
    const pods = podsOf(objects);
    expect(pods.length).toBeGreaterThan(0);
    const known = new Set([...objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`), ...existing]);
    for (const { owner, labels, selector, spec } of pods) {
      expect(labels, owner).toMatchObject(selector);
      expect(spec, owner).toMatchObject({
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        automountServiceAccountToken:
          owner === 'Deployment/demo-runner-jobs' || owner === 'Deployment/training-runner-jobs',
      });
      for (const container of spec.containers) {
        expect(container, owner).toMatchObject({
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          resources: {
            requests: { cpu: expect.anything(), memory: expect.anything() },
            limits: { memory: expect.anything() },
          },
        });
      }
      expect(
        referencesOf(spec).filter((reference) => !known.has(reference)),
        owner,
      ).toEqual([]);
    }
    // Policies, budgets and Services select pods of the chart.
    for (const { kind, metadata, spec } of objects as readonly Selecting[]) {
      const selector = {
        NetworkPolicy: spec?.podSelector,
        PodDisruptionBudget: spec?.selector,
        Service: { matchLabels: spec?.selector },
      }[kind];
      if (selector === undefined) continue;
      const wanted = Object.entries(selector.matchLabels as Readonly<Record<string, string>>);
      const selected = pods.filter(({ labels }) => wanted.every(([key, value]) => labels[key] === value));
      expect(selected.length, `${kind}/${metadata.name}`).toBe(1);
    }
  });

  test.each(Object.keys(refused))('%s is refused with a message', (values) => {
    const { status, stderr } = render(values.split(','));
    expect(status).toBe(1);
    for (const message of refused[values] ?? []) expect(stderr).toContain(message);
  });

  test('the server accepts its arguments and configuration', async () => {
    const objects = manifests(options['all of it'] ?? []);
    const server = podsOf(objects).find(({ owner }) => owner === 'StatefulSet/training');
    const config = objects.find(({ metadata }) => metadata.name === 'training-config') as ConfigMap | undefined;
    const folder = mkdtempSync(path.join(tmpdir(), 'agl-chart-'));
    try {
      const file = path.join(folder, 'config.yaml');
      writeFileSync(file, config?.data['config.yaml'] ?? '');
      const [command, ...args] = server?.spec.containers[0]?.args ?? [];
      expect(command).toBe('server');
      const given = args.map((argument) => argument.replace('/etc/agl/config.yaml', file));
      const { code, output, stderr } = await runAgl(['config', 'print', '--json', ...given]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const { settings } = JSON.parse(output) as { settings: readonly { name: string; value: unknown }[] };
      expect(Object.fromEntries(settings.map(({ name, value }) => [name, value]))).toMatchObject({
        host: '0.0.0.0',
        port: 4747,
        data: '/data',
        drain: '50s',
        gpus: 1,
        runtime: 'training-runtime.training.svc:50051',
        model: 'Qwen/Qwen3-4B',
        steps: 60,
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('NOTES.txt says how to reach the server, and warns of an ingress without TLS', () => {
    const notes = (values: readonly string[]): string =>
      spawnSync(helm, ['install', 'demo', chart, '--dry-run=client', ...values.flatMap((each) => ['--set', each])], {
        encoding: 'utf8',
        env: { ...process.env, KUBECONFIG: '/nonexistent' },
      }).stdout.split('NOTES:')[1] ?? '';
    expect(notes([])).toContain('port-forward service/demo 4747:4747');
    expect(notes([])).toContain('get secret demo-keys');
    expect(notes(['ingress.enabled=true', 'ingress.host=a.example'])).toContain('WARNING: the ingress has no TLS');
    expect(notes(['ingress.enabled=true', 'ingress.host=a.example', 'ingress.tlsSecret=t'])).toContain(
      'https://a.example',
    );
  });
});

interface Selecting extends KubernetesObject {
  readonly spec?: {
    readonly podSelector?: LabelSelector;
    readonly selector?: LabelSelector & Readonly<Record<string, string>>;
  };
}

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
}

import { parse } from 'yaml';
import type { KubernetesObject } from './kubernetes-tools.ts';

/** The specification of a pod, as far as the tests read it. */
export interface PodSpec {
  readonly serviceAccountName: string;
  readonly containers: readonly {
    readonly name: string;
    readonly command?: readonly string[];
    readonly args?: readonly string[];
    readonly env?: readonly EnvironmentVariable[];
  }[];
  readonly volumes?: readonly {
    readonly secret?: { readonly secretName: string };
    readonly configMap?: { readonly name: string };
    readonly persistentVolumeClaim?: { readonly claimName: string };
  }[];
}

interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
}

/** The pods of a workload. */
export interface Pods {
  /** Kind and name of the workload. */
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

interface Workload extends KubernetesObject {
  readonly spec: {
    readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

/** A ConfigMap. */
export interface ConfigMap extends KubernetesObject {
  readonly data: Readonly<Record<string, string>>;
}

/** The pods of the workloads among the manifests, and of the Jobs that `agl kubernetes-runner` creates. */
export function podsOf(objects: readonly KubernetesObject[]): readonly Pods[] {
  const workloads = objects.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment');
  return [...workloads, ...jobTemplatesOf(objects)].map((object) => {
    const { kind, metadata, spec } = object as Workload;
    const { metadata: pod, spec: podSpec } = spec.template;
    const selector = spec.selector?.matchLabels ?? {};
    return { owner: `${kind}/${metadata.name}`, labels: pod.labels, selector, spec: podSpec };
  });
}

/** The templates of Jobs in ConfigMaps. */
export function jobTemplatesOf(objects: readonly KubernetesObject[]): readonly KubernetesObject[] {
  return objects
    .filter(({ kind }) => kind === 'ConfigMap')
    .map((object) => (object as ConfigMap).data['job.yaml'])
    .filter((text) => text !== undefined)
    .map((text) => parse(text) as KubernetesObject);
}

/** What pods refer to: `<kind>/<name>`. */
export function referencesOf({ serviceAccountName, containers, volumes = [] }: PodSpec): readonly string[] {
  const secrets = [
    ...containers.flatMap(({ env = [] }) => env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name)),
    ...volumes.map(({ secret }) => secret?.secretName),
  ];
  return [
    `ServiceAccount/${serviceAccountName}`,
    ...prefixed('Secret', secrets),
    ...prefixed(
      'ConfigMap',
      volumes.map(({ configMap }) => configMap?.name),
    ),
    ...prefixed(
      'PersistentVolumeClaim',
      volumes.map(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName),
    ),
  ];
}

function prefixed(kind: string, names: readonly (string | undefined)[]): readonly string[] {
  return names.filter((name) => name !== undefined).map((name) => `${kind}/${name}`);
}

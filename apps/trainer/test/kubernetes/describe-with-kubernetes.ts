import { describe, expect, test } from 'vitest';
import { type KubernetesTools, prepareKubernetesTools } from './kubernetes-tools.ts';

/**
 * Declares tests that need Helm and the schemas of Kubernetes. Without them they are not run, and the report says why; in continuous
 * integration, where they must be, that is a failure.
 */
export async function describeWithKubernetes(
  name: string,
  body: (tools: Exclude<KubernetesTools, { readonly missing: string }>) => void,
): Promise<void> {
  const tools = await prepareKubernetesTools();
  if (!('missing' in tools)) describe(name, () => body(tools));
  else if (process.env['CI'] === undefined) test.todo(`${name} (not run: ${tools.missing})`);
  else test(name, () => expect.unreachable(tools.missing));
}

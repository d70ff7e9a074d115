import { readFile } from 'node:fs/promises';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { parseSettings } from '@agentlightning/core/settings';
import { parseDocument, type Document as YamlDocument } from 'yaml';
import { z } from 'zod';

/** The label of the Jobs of a controller; its value is the prefix of their names. */
export const jobLabel = 'agentlightning/runner-jobs';

/** A container of a Job. */
interface JobContainer {
  readonly [field: string]: unknown;
  readonly name: string;
  readonly args: readonly string[];
}

/** The manifest of a Job with a container `runner`, whose arguments start `agl runner`. */
export interface JobTemplate {
  readonly [field: string]: unknown;
  readonly apiVersion: 'batch/v1';
  readonly kind: 'Job';
  readonly metadata: { readonly [field: string]: unknown; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly [field: string]: unknown;
    readonly template: {
      readonly [field: string]: unknown;
      readonly spec: { readonly [field: string]: unknown; readonly containers: readonly JobContainer[] };
    };
  };
}

const container = z.looseObject({ name: z.string(), args: z.array(z.string()).default([]) });
const labels = z.record(z.string(), z.string()).default({});

const templateSchema: z.ZodType<JobTemplate> = z.looseObject({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata: z.looseObject({ labels }).prefault({}),
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z
          .array(container)
          .refine((containers) => containers.some(isRunner), 'must have a container with the name runner'),
      }),
    }),
  }),
});

/** What is set in each Job. */
export interface JobSettings {
  /** The prefix of the names of Jobs. */
  readonly name: string;
  readonly rolloutsPerJob: number;
  /** Maximum wait of a runner for rollouts, in milliseconds. */
  readonly idleMs: number;
}

/**
 * Reads the manifest of Jobs from a YAML or JSON file.
 *
 * @throws AgentLightningError CONFIG
 */
export async function readJobTemplate(file: string): Promise<JobTemplate> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const remedy = 'Pass the manifest of a Job with --job-template.';
    throw new AgentLightningError({ code: 'CONFIG', message: `job template not readable: ${file}`, remedy, cause });
  });
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw wrongYaml(file, error);
  return parseSettings(templateSchema, jsonOf(document, file), { what: file });
}

/** Aliases that expand to too many values are an error of the library. */
function jsonOf(document: YamlDocument, file: string): unknown {
  try {
    return document.toJS();
  } catch (cause) {
    throw wrongYaml(file, cause);
  }
}

function wrongYaml(file: string, cause: unknown): AgentLightningError {
  const message = `${file}: ${errorMessage(cause)}`;
  return new AgentLightningError({ code: 'CONFIG', message, remedy: 'Correct the YAML of the manifest.', cause });
}

/** The Job of a batch: the template with a name, the label of the controller, no retries, and the limits of the runner. */
export function jobOf(
  template: JobTemplate,
  name: string,
  { name: owner, rolloutsPerJob, idleMs }: JobSettings,
): JobTemplate {
  const limits = [`--max-rollouts=${rolloutsPerJob}`, `--idle=${idleMs / 1000}s`];
  const { containers } = template.spec.template.spec;
  const pod = {
    ...template.spec.template.spec,
    restartPolicy: 'Never',
    containers: containers.map((each) => (isRunner(each) ? { ...each, args: [...each.args, ...limits] } : each)),
  };
  return {
    ...template,
    metadata: { ...template.metadata, name, labels: { ...template.metadata.labels, [jobLabel]: owner } },
    spec: {
      ttlSecondsAfterFinished: 900,
      ...template.spec,
      backoffLimit: 0,
      template: { ...template.spec.template, spec: pod },
    },
  };
}

function isRunner({ name }: { readonly name: string }): boolean {
  return name === 'runner';
}

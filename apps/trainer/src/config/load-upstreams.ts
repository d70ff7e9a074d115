import { readFile } from 'node:fs/promises';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { parseSettings, secretSchema } from '@agentlightning/core/settings';
import type { Upstream } from '@agentlightning/gateway';
import { z } from 'zod';

/** An entry of an upstreams file. */
const entrySchema = z.strictObject({
  baseUrl: z.string(),
  model: z.string().exactOptional(),
  names: z.array(z.string()).exactOptional(),
  agents: z.array(z.string()).exactOptional(),
  id: z.string().exactOptional(),
  allowInsecureKey: z.boolean().exactOptional(),
  capture: z.enum(['tokens', 'text']).exactOptional(),
  readsImages: z.boolean().exactOptional(),
  apis: z.array(z.enum(['responses', 'messages'])).exactOptional(),
  maxConcurrent: z.int().min(1).exactOptional(),
  maxQueued: z.int().min(0).exactOptional(),
  healthPath: z.string().exactOptional(),
});

/**
 * Reads a file of upstreams: a JSON list of objects with the fields of the gateway's `Upstream`, in which `{ "env": "NAME" }` stands for
 * a key or a header in an environment variable.
 *
 * @throws AgentLightningError CONFIG when it cannot be read, a field is wrong, or an environment variable is not set
 */
export async function loadUpstreams(file: string, environment: NodeJS.ProcessEnv): Promise<readonly Upstream[]> {
  const what = `the upstreams in ${file}`;
  const secret = secretSchema(environment).exactOptional();
  const headers = z.record(z.string(), secretSchema(environment)).exactOptional();
  const entries = z.array(entrySchema.extend({ apiKey: secret, headers })).min(1);
  return parseSettings(entries, await readJson(file), { what });
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `the upstreams in ${file} cannot be read: ${errorMessage(cause)}`,
      remedy: 'Give a file with a JSON list: [{ "baseUrl": "http://localhost:8000/v1", "model": "tiny" }].',
      cause,
    });
  }
}

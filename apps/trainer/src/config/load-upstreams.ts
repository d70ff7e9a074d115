import { readFile } from 'node:fs/promises';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { parseSettings } from '@agentlightning/core/settings';
import type { Upstream } from '@agentlightning/gateway';
import { z } from 'zod';
import { secretFromEnvironment, variableName } from './environment.ts';

/** An entry of an upstreams file. Keys are in the environment; the file names the variables. */
const entrySchema = z.strictObject({
  baseUrl: z.string(),
  model: z.string().exactOptional(),
  names: z.array(z.string()).exactOptional(),
  agents: z.array(z.string()).exactOptional(),
  id: z.string().exactOptional(),
  apiKeyEnv: variableName.exactOptional(),
  allowInsecureKey: z.boolean().exactOptional(),
  headersEnv: z.record(z.string(), variableName).exactOptional(),
  capture: z.enum(['tokens', 'text']).exactOptional(),
  apis: z.array(z.enum(['responses', 'messages'])).exactOptional(),
  maxConcurrent: z.int().min(1).exactOptional(),
  maxQueued: z.int().min(0).exactOptional(),
  healthPath: z.string().exactOptional(),
});

/**
 * Reads a file of upstreams: a JSON list of objects with the fields of the gateway's `Upstream`, but with `apiKeyEnv`
 * and `headersEnv`, the names of environment variables, instead of secrets.
 *
 * @throws AgentLightningError CONFIG when it cannot be read, a field is wrong, or an environment variable is not set
 */
export async function loadUpstreams(file: string, environment: NodeJS.ProcessEnv): Promise<readonly Upstream[]> {
  const what = `the upstreams in ${file}`;
  const entries = parseSettings(z.array(entrySchema).min(1), await readJson(file), { what });
  return entries.map(({ apiKeyEnv, headersEnv, ...upstream }) => ({
    ...upstream,
    ...(apiKeyEnv === undefined ? {} : { apiKey: secretOf(apiKeyEnv, environment) }),
    ...(headersEnv === undefined ? {} : { headers: headersOf(headersEnv, environment) }),
  }));
}

function headersOf(names: Readonly<Record<string, string>>, environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(names).map(([header, name]) => [header, secretOf(name, environment)]));
}

function secretOf(name: string, environment: NodeJS.ProcessEnv): string {
  const request = { name, namedBy: 'the upstreams', example: `${name}=… agl gateway …` };
  return secretFromEnvironment(environment, request);
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

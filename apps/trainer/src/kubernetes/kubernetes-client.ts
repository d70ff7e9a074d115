import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { AgentLightningError, type ErrorCode } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { z } from 'zod';
import type { RunnerJob } from './job-plan.ts';
import { type JobTemplate, jobLabel } from './job-template.ts';

/** Where the API of a cluster is, and how this process is known to it. */
export interface KubernetesAccess {
  readonly url: string;
  readonly namespace: string;
  /** The folder with token and ca.crt; null for a proxy that authenticates. */
  readonly credentials: string | null;
}

const timeoutMs = 15_000;

const time = z.iso.datetime({ offset: true }).transform((value) => Date.parse(value));
const condition = z.object({ type: z.string(), status: z.string(), lastTransitionTime: time.optional() });
const jobSchema = z
  .object({
    metadata: z.object({ name: z.string(), creationTimestamp: time }),
    status: z.object({ conditions: z.array(condition).optional(), completionTime: time.optional() }).optional(),
  })
  .transform(({ metadata, status }): RunnerJob => {
    const ended = status?.conditions?.find(
      ({ type, status: is }) => is === 'True' && (type === 'Complete' || type === 'Failed'),
    );
    if (ended === undefined) return { name: metadata.name, state: 'active', endMs: null };
    const endMs = status?.completionTime ?? ended.lastTransitionTime ?? metadata.creationTimestamp;
    return { name: metadata.name, state: ended.type === 'Complete' ? 'succeeded' : 'failed', endMs };
  });
const listSchema = z.object({ items: z.array(jobSchema) });
const statusSchema = z.object({ message: z.string() });

/** A response of the API. */
interface ApiResponse {
  readonly status: number;
  readonly body: unknown;
}

/** The requests to the API of Kubernetes that the controller of Jobs needs. */
export class KubernetesClient {
  readonly #access: KubernetesAccess;

  constructor(access: KubernetesAccess) {
    this.#access = access;
  }

  /** The Jobs with the label of a controller, ended ones too. */
  async listJobs(owner: string): Promise<readonly RunnerJob[]> {
    const { body } = await this.#request('GET', `?labelSelector=${encodeURIComponent(`${jobLabel}=${owner}`)}`);
    return listSchema.parse(body).items;
  }

  /** Creates a Job; false when one of its name exists. */
  async createJob(job: JobTemplate): Promise<boolean> {
    const { status } = await this.#request('POST', '', { body: job, accept: 409 });
    return status !== 409;
  }

  /** Deletes a Job with its pods, which are stopped with SIGTERM. A Job that does not exist is deleted. */
  async deleteJob(name: string): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' };
    await this.#request('DELETE', `/${name}`, { body, accept: 404 });
  }

  async #request(
    method: string,
    suffix: string,
    { body, accept }: { readonly body?: unknown; readonly accept?: number } = {},
  ): Promise<ApiResponse> {
    const { url, namespace, credentials } = this.#access;
    const address = new URL(`/apis/batch/v1/namespaces/${namespace}/jobs${suffix}`, url);
    // Read each time: the kubelet renews the token.
    const read = (file: string): Promise<string | undefined> =>
      credentials === null ? Promise.resolve(undefined) : readFile(path.join(credentials, file), 'utf8');
    const [token, ca] = await Promise.all([read('token'), read('ca.crt')]);
    const content = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const request = (address.protocol === 'https:' ? requestHttps : requestHttp)(address, {
      method,
      ...(ca === undefined ? {} : { ca }),
      headers: {
        accept: 'application/json',
        // Without the length Node sends the body of a DELETE unframed.
        ...(content === null ? {} : { 'content-type': 'application/json', 'content-length': content.byteLength }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }),
      },
      signal: AbortSignal.timeout(timeoutMs),
    });
    const response = await responseTo(request, content).catch((cause: unknown) => {
      const message = `Kubernetes API not reached: ${address.origin}: ${errorMessage(cause)}`;
      throw new AgentLightningError({ code: 'UNREACHABLE', message, cause });
    });
    if (response.status >= 300 && response.status !== accept) throw refused(`${method} ${address.pathname}`, response);
    return response;
  }
}

async function responseTo(request: ReturnType<typeof requestHttp>, content: Buffer | null): Promise<ApiResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once('response', resolve).once('error', reject);
  request.end(content ?? undefined);
  const response = await promise;
  const received = await text(response);
  return {
    status: response.statusCode ?? 0,
    body: response.headers['content-type']?.includes('json') ? JSON.parse(received) : received,
  };
}

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  422: 'CONFIG',
};

function refused(what: string, { status, body }: ApiResponse): AgentLightningError {
  const { data } = statusSchema.safeParse(body);
  return new AgentLightningError({
    code: status === 429 || status >= 500 ? 'UNREACHABLE' : (codes[status] ?? 'INTERNAL'),
    message: `Kubernetes API responded with ${status} to ${what}: ${data?.message ?? 'no reason'}`,
    remedy:
      status === 403
        ? 'Allow the ServiceAccount to list, create and delete Jobs in the namespace.'
        : 'Correct what the message names; `kubectl create --dry-run=server` checks a Job.',
  });
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { AglProcess } from '../agl-process.ts';
import type { KubernetesObject, KubernetesSchemas } from './kubernetes-tools.ts';
import type { PodSpec } from './pods.ts';

/** A Job as the server keeps it. */
interface Job extends KubernetesObject {
  readonly spec: {
    readonly backoffLimit: number;
    readonly template: { readonly spec: PodSpec & { readonly restartPolicy: string } };
  };
}

/** A response: a status, and an object of the API. */
interface ApiResponse {
  readonly code: number;
  readonly body: object;
}

/**
 * The Jobs API of a cluster, as far as a controller sees it: it validates each request and response against the schemas of Kubernetes,
 * and runs the pod of each Job as a process with its arguments and environment.
 */
export class TestApiServer implements AsyncDisposable {
  /** Every Job that was created, in order. */
  readonly created: string[] = [];
  /** The largest number of Jobs at a time. */
  mostActive = 0;
  readonly #schemas: KubernetesSchemas;
  readonly #secrets: Readonly<Record<string, string>>;
  readonly #jobs = new Map<string, Job>();
  readonly #pods = new Map<string, AglProcess>();
  readonly #http: Server;
  #version = 0;

  /** `secrets`: the values of Secrets, by `<name>/<key>`. */
  constructor(schemas: KubernetesSchemas, secrets: Readonly<Record<string, string>>) {
    this.#schemas = schemas;
    this.#secrets = secrets;
    this.#http = createServer(async (request, response) => {
      const { code, body } = await this.#respond(request).catch((error: unknown) =>
        status(500, 'InternalError', String(error)),
      );
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }).listen(0, '127.0.0.1');
  }

  async url(): Promise<string> {
    if (!this.#http.listening) await once(this.#http, 'listening');
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** The process of a Job's pod. */
  pod(name: string): AglProcess | undefined {
    return this.#pods.get(name);
  }

  /** The ended Jobs, by name: the type of the condition that ended each. */
  ended(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#jobs].flatMap(([name, job]) => (isActive(job) ? [] : [[name, conditionOf(job)]])),
    );
  }

  /** The names of active Jobs. */
  active(): readonly string[] {
    return [...this.#jobs].filter(([, job]) => isActive(job)).map(([name]) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections();
    this.#http.close();
    for (const pod of this.#pods.values()) await pod[Symbol.asyncDispose]();
  }

  async #respond(request: IncomingMessage): Promise<ApiResponse> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const [, namespace, name] =
      /^\/apis\/batch\/v1\/namespaces\/([a-z0-9-]+)\/jobs(?:\/([a-z0-9-]+))?$/.exec(url.pathname) ?? [];
    if (namespace !== 'training')
      return status(403, 'Forbidden', `jobs.batch is forbidden in the namespace ${namespace}`);
    switch (request.method) {
      case 'GET':
        return this.#valid(this.#list(url.searchParams.get('labelSelector') ?? ''));
      case 'POST':
        return this.#valid(this.#create((await json(request)) as Job));
      case 'DELETE':
        return this.#valid(this.#delete(name ?? '', (await json(request)) as KubernetesObject));
      default:
        return status(405, 'MethodNotAllowed', 'method not allowed');
    }
  }

  /** A response that is not what Kubernetes would send is an error of this server. */
  #valid(response: ApiResponse): ApiResponse {
    const object = response.body as KubernetesObject;
    const problems =
      object.kind === 'Status' ? this.#schemas.problemsAs('status-meta-v1', object) : this.#schemas.problems(object);
    return problems.length === 0 ? response : status(500, 'InternalError', problems.join('; '));
  }

  #list(labelSelector: string): ApiResponse {
    const [key = '', value] = labelSelector.split('=');
    const items = [...this.#jobs.values()].filter(({ metadata }) => metadata.labels?.[key] === value);
    const metadata = { resourceVersion: String(this.#version) };
    return { code: 200, body: { apiVersion: 'batch/v1', kind: 'JobList', metadata, items } };
  }

  #create(job: Job): ApiResponse {
    const problems = [...this.#schemas.problems(job)];
    const name = job.metadata.name ?? '';
    const { restartPolicy } = job.spec.template.spec;
    if (restartPolicy !== 'Never') problems.push(`restartPolicy: Unsupported value: ${restartPolicy}`);
    if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) problems.push(`metadata.name: Invalid value: ${name}`);
    if (problems.length > 0) return status(422, 'Invalid', `Job.batch "${name}" is invalid: ${problems.join('; ')}`);
    if (this.#jobs.has(name)) return status(409, 'AlreadyExists', `jobs.batch "${name}" already exists`);
    const creationTimestamp = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    this.#write({
      ...job,
      metadata: {
        ...job.metadata,
        namespace: 'training',
        uid: crypto.randomUUID(),
        creationTimestamp,
      } as Job['metadata'],
    });
    this.created.push(name);
    this.mostActive = Math.max(this.mostActive, this.active().length);
    this.#startPod(name, job);
    return { code: 201, body: this.#jobs.get(name) ?? {} };
  }

  #delete(name: string, deletion: KubernetesObject): ApiResponse {
    const problems = this.#schemas.problemsAs('deleteoptions-meta-v1', deletion);
    if (problems.length > 0) return status(400, 'BadRequest', problems.join('; '));
    if (!this.#jobs.delete(name)) return status(404, 'NotFound', `jobs.batch "${name}" not found`);
    this.#version += 1;
    this.#pods.get(name)?.terminate();
    return { code: 200, body: { apiVersion: 'v1', kind: 'Status', status: 'Success' } };
  }

  #startPod(name: string, { spec }: Job): void {
    const [container] = spec.template.spec.containers;
    const env = Object.fromEntries(
      (container?.env ?? []).map(({ name: variable, value, valueFrom }) => {
        const { name: secret, key } = valueFrom?.secretKeyRef ?? {};
        return [variable, value ?? this.#secrets[`${secret}/${key}`] ?? ''];
      }),
    );
    const pod = new AglProcess(container?.args ?? [], { env });
    this.#pods.set(name, pod);
    void pod.exitCode().then((code) => this.#end(name, code === 0 ? 'Complete' : 'Failed'));
  }

  #end(name: string, type: 'Complete' | 'Failed'): void {
    const job = this.#jobs.get(name);
    if (job === undefined) return;
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const ended = type === 'Complete' ? { succeeded: 1, completionTime: now } : { failed: 1 };
    this.#write({ ...job, status: { conditions: [{ type, status: 'True', lastTransitionTime: now }], ...ended } });
  }

  #write(job: Job): void {
    this.#version += 1;
    const metadata = { ...job.metadata, resourceVersion: String(this.#version) };
    this.#jobs.set(job.metadata.name ?? '', { ...job, metadata });
  }
}

function conditionOf(job: Job): string {
  return (job['status'] as { readonly conditions: readonly { readonly type: string }[] }).conditions[0]?.type ?? '';
}

function isActive(job: Job): boolean {
  return job['status'] === undefined;
}

function status(code: number, reason: string, message: string): ApiResponse {
  return { code, body: { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', code, reason, message } };
}

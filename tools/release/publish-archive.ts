import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../verify/run-command.ts';
import type { PackageManifest } from './published-packages.ts';

/** Options of publishing packages. */
export interface PublishTarget {
  /** The URL of the npm registry. */
  readonly registry: string;
  /** The dist-tag that the version gets, such as `latest`. */
  readonly tag: string;
}

/**
 * The versions of a package in a registry; none for a new package.
 *
 * @throws Error when the registry does not respond or rejects the request
 */
export async function registryVersions(name: string, registry: string): Promise<readonly string[]> {
  const { isOk, output } = await runCommand([...npm(registry, 'view'), name, 'versions', '--json']);
  if (output.includes('E404')) return [];
  if (!isOk) throw new Error(`Reading ${name} from ${registry} failed. Check the URL and your access.\n${output}`);
  const versions: unknown = JSON.parse(output);
  return Array.isArray(versions) ? versions.map(String) : [String(versions)];
}

/** Whether npm has credentials for publishing to a registry, or this process an identity that it exchanges for some. */
export async function hasCredentials(registry: string): Promise<boolean> {
  if (hasOidcIdentity(process.env)) return true;
  const folder = await mkdtemp(join(tmpdir(), 'agentlightning-credentials-'));
  try {
    const manifest = { name: '@agentlightning/credentials', version: '0.0.0' };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    const flags = ['--dry-run', '--registry', registry, '--loglevel', 'warn'];
    const { output } = await runCommand(['npm', 'publish', folder, ...flags], {
      env: { npm_config_fetch_retries: '0' },
    });
    return !/requires you to be logged in|ENEEDAUTH/.test(output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Publishes an archive. In a CI with an OIDC identity the package gets a provenance statement.
 *
 * @throws Error when the registry rejects it
 */
export async function publishArchive(archive: string, { registry, tag }: PublishTarget): Promise<void> {
  const provenance = hasOidcIdentity(process.env) ? ['--provenance'] : [];
  const command = [...npm(registry, 'publish'), archive, '--access', 'public', '--tag', tag, ...provenance];
  const { isOk, output } = await runCommand(command);
  if (!isOk)
    throw new Error(`Publishing ${archive} to ${registry} failed. Run the release again to continue.\n${output}`);
}

/** npm without warnings, which would mix with the JSON of its output. */
function npm(registry: string, command: string): readonly string[] {
  return ['npm', command, '--registry', registry, '--loglevel', 'error'];
}

/** Whether this process can get an identity token: a GitHub job with `id-token: write`, or GitLab with `SIGSTORE_ID_TOKEN`. */
export function hasOidcIdentity(environment: NodeJS.ProcessEnv): boolean {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: github, SIGSTORE_ID_TOKEN: gitlab } = environment;
  return [github, gitlab].some((value) => value !== undefined && value !== '');
}

/**
 * The manifest with the repository of a GitHub job: npm compares it with the provenance statement. Unchanged outside of one.
 */
export function withRepository(
  manifest: PackageManifest,
  folder: string,
  { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository }: NodeJS.ProcessEnv,
): object {
  if (server === undefined || repository === undefined) return manifest;
  return { ...manifest, repository: { type: 'git', url: `git+${server}/${repository}.git`, directory: folder } };
}

/**
 * `pnpm release --registry <url>`: turns changesets into versions and changelogs, builds, checks the archives and publishes each
 * package whose version the registry does not have, dependencies first. A release that failed half-way continues when it is
 * repeated. `--dry-run` publishes nothing; `--tag next` sets the dist-tag. Only a release that succeeds changes files.
 *
 * The credentials are those of npm: `npm login`, a token in `.npmrc`, or trusted publishing in CI. Without any, it ends before it
 * builds.
 *
 * `changeset publish` packs and publishes each package in one operation, so a package that lacks a file is found after others
 * have been published, and versions cannot be withdrawn. What the registry has decides what is left to do. `npm create
 * agentlightning` installs the packages of a new project by name, so a template has no versions that age.
 *
 * @module
 */
import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { archiveProblems, packPackage } from './release/check-archive.ts';
import {
  hasCredentials,
  type PublishTarget,
  publishArchive,
  registryVersions,
  withRepository,
} from './release/publish-archive.ts';
import { type PublishedPackage, publishedPackages } from './release/published-packages.ts';
import { listFiles, readText, repositoryRoot } from './repository-files.ts';
import { runCommand } from './verify/run-command.ts';

const options = {
  registry: { type: 'string' },
  tag: { type: 'string', default: 'latest' },
  'dry-run': { type: 'boolean', default: false },
} as const;

async function main(args: readonly string[]): Promise<number> {
  const { registry, tag, 'dry-run': isDryRun } = parseArgs({ args: [...args], options }).values;
  if (registry === undefined || !/^https?:$/.test(URL.parse(registry)?.protocol ?? '')) {
    console.error(
      `Registry is not an HTTP address: ${registry ?? '(none)'}. Pass --registry, such as the output of npm config get registry.`,
    );
    return 2;
  }
  if (!isDryRun && !(await hasCredentials(registry))) {
    const key = `${registry.replace(/^https?:/, '').replace(/\/*$/, '/')}:_authToken`;
    console.error(
      `No credentials for ${registry}. Run npm login --registry ${registry}, or write ${key}=<token> to ~/.npmrc. In CI, use a trusted publisher.`,
    );
    return 2;
  }
  restoreUnlessReleased(isDryRun);
  await version();
  await run(['turbo', 'run', 'build', '--output-logs=errors-only', '--log-order=grouped']);
  const pending = await pendingPackages(registry);
  const folder = await mkdtemp(join(tmpdir(), 'agentlightning-release-'));
  try {
    const archives = await packAll(pending, folder);
    if (!isDryRun) await publishAll(archives, { registry, tag });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  console.log(`${isDryRun ? 0 : pending.length} published, ${isDryRun ? pending.length : 0} pending`);
  return 0;
}

/** Restores what a release changes when the process fails or is interrupted, and after a dry run. */
function restoreUnlessReleased(isDryRun: boolean): void {
  const changedFiles = (): readonly string[] =>
    listFiles((path) => /(?:^|\/)(?:package\.json|CHANGELOG\.md)$|^\.changeset\//.test(path));
  const before = new Map(changedFiles().map((path) => [path, readText(path)]));
  process.once('exit', (code) => {
    if (code === 0 && !isDryRun) return;
    for (const path of changedFiles()) if (!before.has(path)) rmSync(join(repositoryRoot, path));
    for (const [path, text] of before) writeFileSync(join(repositoryRoot, path), text);
  });
}

/** Applies the changesets; without one the versions stay. */
async function version(): Promise<void> {
  const files = await readdir(join(repositoryRoot, '.changeset'));
  const changesets = files.filter((file) => file.endsWith('.md') && file !== 'README.md');
  console.log(`${changesets.length} changesets`);
  if (changesets.length > 0) await run(['changeset', 'version']);
}

/** The packages whose version is not in the registry, dependencies first. */
async function pendingPackages(registry: string): Promise<readonly PublishedPackage[]> {
  const pending: PublishedPackage[] = [];
  for (const one of await publishedPackages()) {
    const versions = await registryVersions(one.manifest.name, registry);
    if (!versions.includes(one.manifest.version)) pending.push(one);
  }
  return pending;
}

/** Packs and checks all packages before the first one is published. */
async function packAll(packages: readonly PublishedPackage[], target: string): Promise<ReadonlyMap<string, string>> {
  const archives = new Map<string, string>();
  const problems: string[] = [];
  for (const { folder, manifest } of packages) {
    const file = join(repositoryRoot, folder, 'package.json');
    const text = await readFile(file, 'utf8');
    try {
      await writeFile(file, JSON.stringify(withRepository(manifest, folder, process.env), null, 2));
      const archive = await packPackage(folder, target);
      archives.set(`${manifest.name}@${manifest.version}`, archive);
      problems.push(...(await archiveProblems(archive)).map((problem) => `${folder}: ${problem}`));
    } finally {
      await writeFile(file, text);
    }
  }
  if (problems.length > 0) throw new Error(`Archives are not fit for publishing:\n${problems.join('\n')}`);
  return archives;
}

async function publishAll(archives: ReadonlyMap<string, string>, target: PublishTarget): Promise<void> {
  for (const [name, archive] of archives) {
    await publishArchive(archive, target);
    console.log(`published ${name}`);
  }
}

async function run(command: readonly string[]): Promise<void> {
  const { isOk, output } = await runCommand(command);
  if (!isOk) throw new Error(`Command failed: ${command.join(' ')}\n${output}`);
}

try {
  process.exitCode = await main(process.argv.slice(2).filter((arg) => arg !== '--'));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

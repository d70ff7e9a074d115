/**
 * `pnpm rehearse-release`: releases a copy of the repository to a registry on loopback, installs from it with npm, pnpm, yarn and
 * bun in fresh projects, and runs what was installed; creates projects with `npm create` and trains them. Then it releases a patch of one adapter, which must publish one package.
 *
 * `--only fetch` and `--with bun` select installations and package managers. The last line is `N passed, N failed`.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { creationProblems, creations } from './release/creation-checks.ts';
import { installationProblems, installations } from './release/installation-checks.ts';
import { LocalRegistry } from './release/local-registry.ts';
import { packageManagers } from './release/package-managers.ts';
import { registryVersions } from './release/publish-archive.ts';
import { publishedPackages } from './release/published-packages.ts';
import { commitAll, copyRepository } from './release/repository-copy.ts';
import { setUpProblems } from './release/set-up-checks.ts';
import { existingProjects } from './release/user-projects.ts';
import { runCommand } from './verify/run-command.ts';

const options = {
  only: { type: 'string', multiple: true, default: [] as string[] },
  with: { type: 'string', multiple: true, default: [] as string[] },
} as const;

let passed = 0;
let failed = 0;

async function main(args: readonly string[]): Promise<void> {
  const { only, with: wanted } = parseArgs({ args: [...args], options }).values;
  const tools = join(tmpdir(), 'agentlightning-release-tools');
  await mkdir(tools, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), 'agentlightning-release-'));
  try {
    await using registry = await LocalRegistry.start(join(tools, 'verdaccio'), join(work, 'registry'));
    const copy = join(work, 'copy');
    await copyRepository(copy);
    await check('a release that fails', async () => await failureProblems(copy, registry));
    await check('release of all packages', async () => await releaseProblems(copy, registry, isEveryPackage));
    const chosen = installations.filter(({ name }) => only.length === 0 || only.some((part) => name.includes(part)));
    for (const manager of await packageManagers(tools)) {
      if (wanted.length > 0 && !wanted.includes(manager.name)) continue;
      for (const installation of chosen) {
        const folder = join(work, 'projects', manager.name, installation.name.replace(/\W+/g, '-'));
        const project = { manager, registry: registry.url, folder };
        const title = `${installation.name} installed with ${manager.name}`;
        await check(title, async () => await installationProblems(installation, project));
        await rm(folder, { recursive: true, force: true });
      }
    }
    for (const creation of creations) {
      const title = `npm create for ${creation.framework}, ${creation.goal}`;
      if (only.length > 0 && !only.some((part) => title.includes(part))) continue;
      const folder = join(work, 'created', `${creation.framework}-${creation.goal}`);
      await check(title, async () => await creationProblems(creation, { registry: registry.url, folder }));
    }
    for (const project of existingProjects) {
      const title = `agl init, checks and dev in an existing project: ${project.name}`;
      if (only.length > 0 && !only.some((part) => title.includes(part))) continue;
      const folder = join(work, 'set-up', project.name.replace(/\W+/g, '-'));
      await check(title, async () => await setUpProblems(project, { registry: registry.url, folder }));
    }
    await check('a patch of one adapter publishes one package', async () => await patchProblems(copy, registry));
    await check('a repeated release publishes nothing', async () => await releaseProblems(copy, registry, isNothing));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  console.log(`\n${passed} passed, ${failed} failed`);
}

async function check(title: string, problemsOf: () => Promise<readonly string[]>): Promise<void> {
  const startedAt = performance.now();
  const problems = await problemsOf().catch((error: unknown) => [String(error)]);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (problems.length === 0) passed += 1;
  else failed += 1;
  console.log(`${problems.length === 0 ? '✔' : '✘'} ${title} (${seconds} s)`);
  for (const problem of problems) console.log(problem.replace(/^/gm, '    '));
}

const isEveryPackage = (published: readonly string[], all: readonly string[]): boolean =>
  published.join() === all.map((name) => `${name}@0.1.0`).join();
const isNothing = (published: readonly string[]): boolean => published.length === 0;

async function releaseProblems(
  copy: string,
  { url, environment }: LocalRegistry,
  isExpected: (published: readonly string[], all: readonly string[]) => boolean,
): Promise<readonly string[]> {
  const command = ['node', 'tools/release.ts', '--registry', url];
  const { isOk, output } = await runCommand(command, { cwd: copy, env: environment, timeoutMs: 1_800_000 });
  await commitAll(copy, 'chore: release').catch(() => {});
  if (!isOk) return [output];
  const published = [...output.matchAll(/^published (\S+)$/gm)].map((match) => match[1] ?? '');
  const all = (await publishedPackages()).map(({ manifest }) => manifest.name);
  return isExpected(published, all) ? [] : [`Unexpected: ${published.length} published.\n${output}`];
}

/** A release without a token, and one to an address without a registry: each says what it needs and changes no file. */
async function failureProblems(copy: string, { url, environment }: LocalRegistry): Promise<readonly string[]> {
  const attempts: readonly (readonly [registry: string, env: Readonly<Record<string, string>>, output: RegExp])[] = [
    [url, {}, /Run npm login --registry/],
    ['http://127.0.0.1:9', { ...environment, 'npm_config_//127.0.0.1:9/:_authToken': 'local' }, /Check the URL/],
  ];
  for (const [registry, given, expected] of attempts) {
    const env = { ...given, npm_config_fetch_retries: '0' };
    const command = ['node', 'tools/release.ts', '--registry', registry];
    const { isOk, output } = await runCommand(command, { cwd: copy, env, timeoutMs: 1_800_000 });
    if (isOk || !expected.test(output)) return [`Unexpected output of ${command.join(' ')}:\n${output}`];
    const { output: changed } = await runCommand(['git', 'status', '--porcelain'], { cwd: copy });
    if (changed.trim() !== '') return [`Changed files after ${command.join(' ')}:\n${changed}`];
  }
  return [];
}

async function patchProblems(copy: string, registry: LocalRegistry): Promise<readonly string[]> {
  await writeFile(join(copy, '.changeset/patch.md'), "---\n'@agentlightning/fetch': patch\n---\n\nA correction.\n");
  const isPatch = (published: readonly string[]): boolean => published.join() === '@agentlightning/fetch@0.1.1';
  const problems = await releaseProblems(copy, registry, isPatch);
  const core = await registryVersions('@agentlightning/core', registry.url);
  return core.join() === '0.1.0' ? problems : [...problems, `Unexpected versions of core: ${core.join()}.`];
}

await main(process.argv.slice(2).filter((arg) => arg !== '--'));
process.exitCode = failed === 0 ? 0 : 1;

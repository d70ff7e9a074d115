import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';

/** What an installation of a package adds to an empty project. */
interface InstalledWeight {
  /** Number of packages, with the package itself. */
  readonly packages: number;
  /** Size on the disk in bytes. */
  readonly bytes: number;
  /** Required packages without a copy in the workspace, so without a weight. */
  readonly missing: readonly string[];
}

/** The parts of a package.json that decide what is installed. */
interface Manifest {
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Size of a block of the disk: a file takes whole ones. */
const blockBytes = 4096;

/**
 * Measures a package of the workspace with all packages that npm installs with it, by their copies in the workspace.
 *
 * @param folder - from the root of the repository; the packages must be built
 */
async function installedWeight(folder: string): Promise<InstalledWeight> {
  const known = new Set<string>();
  const missing: string[] = [];
  let bytes = 0;
  const pending = [await realpath(join(repositoryRoot, folder))];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (known.has(next)) continue;
    known.add(next);
    const manifest = JSON.parse(await readFile(join(next, 'package.json'), 'utf8')) as Manifest;
    bytes += await sizeOf(next, manifest);
    for (const name of installedNames(manifest)) {
      const found = await findPackage(next, name);
      if (found !== null) pending.push(found);
      else if (!(name in (manifest.optionalDependencies ?? {}))) missing.push(`${name} of ${next}`);
    }
  }
  return { packages: known.size, bytes, missing };
}

function installedNames(manifest: Manifest): readonly string[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  return [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers];
}

/** The folder of a dependency; null where it is not installed. */
async function findPackage(from: string, name: string): Promise<string | null> {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(candidate)) return await realpath(candidate);
  }
  return null;
}

/** The files of a package: all of an installed one, the published ones of a package of the workspace. */
async function sizeOf(folder: string, { files = [] }: Manifest): Promise<number> {
  const isOurs = !folder.includes('node_modules');
  const entries = await readdir(folder, { recursive: !isOurs, withFileTypes: true });
  const published = isOurs
    ? await Promise.all(
        files
          .map((file) => join(folder, file))
          .filter(isFolder)
          .map(async (path) => await readdir(path, { recursive: true, withFileTypes: true })),
      )
    : [];
  const paths = [
    ...entries.filter(({ name }) => !isOurs || ['package.json', 'README.md'].includes(name)),
    ...published.flat(),
  ]
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !path.slice(folder.length).includes('node_modules'));
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return sizes.reduce((sum, size) => sum + Math.ceil(size / blockBytes) * blockBytes, 0);
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** The limits of the trainer: what a project installs with it. */
const trainerLimits: Pick<InstalledWeight, 'packages' | 'bytes'> = { packages: 180, bytes: 90_000_000 };

/** A line about the trainer's weight, and whether it is within {@link trainerLimits}. */
export async function trainerWeight(): Promise<{ readonly text: string; readonly isOk: boolean }> {
  const { packages, bytes, missing } = await installedWeight('apps/trainer');
  const { packages: maxPackages, bytes: maxBytes } = trainerLimits;
  const size = `${Math.round(bytes / 1e6)} of at most ${Math.round(maxBytes / 1e6)} MB`;
  const text = `the trainer installs ${packages} of at most ${maxPackages} packages, ${size}`;
  if (missing.length > 0) return { text: `${text}; not installed here: ${missing.join(', ')}`, isOk: false };
  return { text, isOk: packages <= maxPackages && bytes <= maxBytes };
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listPackageFolders, repositoryRoot } from '../repository-files.ts';

/** The parts of a package.json that a release reads. */
export interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** A package of the workspace that is published. */
export interface PublishedPackage {
  /** From the root of the repository. */
  readonly folder: string;
  readonly manifest: PackageManifest;
}

/** The packages that are published, each after those that it depends on. */
export async function publishedPackages(): Promise<readonly PublishedPackage[]> {
  const packages = new Map<string, PublishedPackage>();
  for (const folder of listPackageFolders()) {
    const text = await readFile(join(repositoryRoot, folder, 'package.json'), 'utf8');
    const manifest = JSON.parse(text) as PackageManifest;
    if (manifest.private !== true) packages.set(manifest.name, { folder, manifest });
  }
  const ordered = new Set<PublishedPackage>();
  const add = (one: PublishedPackage): void => {
    for (const name of Object.keys(one.manifest.dependencies ?? {})) {
      const dependency = packages.get(name);
      if (dependency !== undefined && !ordered.has(dependency)) add(dependency);
    }
    ordered.add(one);
  };
  for (const one of packages.values()) add(one);
  return [...ordered];
}

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { satisfies } from 'semver';
import { z } from 'zod';
import { adapters, type KnownAdapter } from './adapters.ts';

const manifestSchema = z.object({
  version: z.string().exactOptional(),
  type: z.string().exactOptional(),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

/** The dependencies of a project, by name: the ranges of its package.json. */
export type Dependencies = Readonly<Record<string, string>>;

/**
 * Reads the dependencies of the project in a folder.
 *
 * @throws AgentLightningError CONFIG when the folder has no valid package.json
 */
export function projectDependencies(folder: string): Dependencies {
  const file = path.join(folder, 'package.json');
  const manifest = readManifest(file);
  if (manifest === null) {
    const message = `no valid package.json: ${file}`;
    throw new AgentLightningError({ code: 'CONFIG', message, remedy: 'Run the command in the folder of a project.' });
  }
  return { ...manifest.devDependencies, ...manifest.dependencies };
}

/** Whether the files of the project in a folder are ES modules. */
export function isEsModulePackage(folder: string): boolean {
  return readManifest(path.join(folder, 'package.json'))?.type === 'module';
}

/** The version of a package as a project in this folder resolves it; null when it is not installed. */
export function installedPackageVersion(name: string, folder: string): string | null {
  const manifest = readManifest(path.join(folder, 'node_modules', name, 'package.json'));
  if (manifest !== null) return manifest.version ?? null;
  const parent = path.dirname(folder);
  return parent === folder ? null : installedPackageVersion(name, parent);
}

function readManifest(file: string): z.infer<typeof manifestSchema> | null {
  if (!existsSync(file)) return null;
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // An invalid file is reported as a missing one.
    return null;
  }
}

/** A framework of a project. */
export interface FoundFramework extends KnownAdapter {
  /** Null when it is not installed. */
  readonly version: string | null;
  /** Whether the adapter supports the version; null when it is not installed. */
  readonly isSupported: boolean | null;
}

/** The frameworks that a project depends on, those that need the most specific adapter first. */
export function findFrameworks(folder: string, dependencies: Dependencies): readonly FoundFramework[] {
  return adapters
    .filter(({ framework, imports }) =>
      [framework, ...Object.keys(dependencies)].some(
        (name) => name in dependencies && (name === framework || imports.test(name)),
      ),
    )
    .map((adapter) => {
      const version = installedPackageVersion(adapter.framework, folder);
      const isSupported = version === null ? null : satisfies(version, adapter.range, { includePrerelease: true });
      return { ...adapter, version, isSupported };
    });
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  loadModule,
  type ModuleRequire,
  moduleRequires,
  parseJsonObject,
  resolveModule,
} from '@agentlightning/core/internal';

/** The package with the OpenAI models. Loading the main package would replace the trace processors. */
const openAIPart = '@openai/agents-openai';

/**
 * Returns the loaded copies of the framework and of the `openai` client: in CommonJS those in the module cache, as ES
 * modules those installed for the program and for this package. While the framework is running, such an import usually
 * returns the loaded module. A bundle has no module files: pass its modules as an option.
 *
 * @param isRunning - whether the framework is running. If not, a CommonJS program is searched for CommonJS copies only,
 * because importing its ES modules would load them
 */
export function loadedCopies(isRunning: boolean): readonly unknown[] {
  const commonJs = commonJsCopies();
  if (!isRunning && commonJs.length > 0) return commonJs;
  const places = moduleRequires(import.meta.url);
  const parts = places.flatMap(frameworkParts);
  return [
    ...parts.flatMap((part) => esModule(createRequire(part), part)),
    ...[...places, ...parts.map((part) => createRequire(part))].flatMap((place) => esModule(place, 'openai')),
    ...commonJs,
  ];
}

/** The framework version installed for the program, or else for this package; null if neither is installed. */
export function installedVersion(): string | null {
  for (const place of moduleRequires(import.meta.url).toReversed()) {
    const main = resolveModule(place, '@openai/agents');
    if (main === null) continue;
    // Read as a file: the package does not export its package.json, and webpack removes calls of what `createRequire` returns.
    const { version } = parseJsonObject(readFileSync(join(dirname(main), '../package.json'), 'utf8')) ?? {};
    if (typeof version === 'string') return version;
  }
  return null;
}

/** The paths of the package with the OpenAI models, in CommonJS. */
function frameworkParts(place: ModuleRequire): readonly string[] {
  const main = resolveModule(place, '@openai/agents');
  const part = main === null ? resolveModule(place, openAIPart) : resolveModule(createRequire(main), openAIPart);
  return part === null ? [] : [part];
}

/** The ES module next to the CommonJS module of a package. */
function esModule(place: ModuleRequire, name: string): readonly unknown[] {
  const commonJs = resolveModule(place, name);
  return commonJs === null ? [] : loadModule(place, commonJs.replace(/\.js$/, '.mjs'));
}

function commonJsCopies(): readonly unknown[] {
  const cache = moduleRequires(import.meta.url)[0]?.cache ?? {};
  const path = /[\\/](@openai[\\/]agents-openai[\\/]dist|openai)[\\/]index\.js$/;
  return Object.entries(cache).flatMap(([file, module]) => (path.test(file) ? [module?.exports] : []));
}

import { createRequire } from 'node:module';
import { fieldsOf, loadModule, type ModuleRequire, moduleRequires, resolveModule } from '@agentlightning/core/adapter';

/** The part of the framework that talks to OpenAI. Loading the whole would set its trace processors anew. */
const openAIPart = '@openai/agents-openai';

/**
 * The modules of the framework, and of the `openai` client, that the process uses: those in CommonJS that are loaded, and as
 * ES modules those that are installed beside the program and beside this package. To be called when the framework is at
 * work: then asking for a module mostly gives the one that is loaded. In a bundle nothing is found: pass the modules there.
 *
 * @param isAtWork - false before: then of a program in CommonJS those in CommonJS alone, as its ES modules would be loaded
 * only for being asked for
 */
export function loadedCopies(isAtWork: boolean): readonly unknown[] {
  const commonJs = commonJsCopies();
  if (!isAtWork && commonJs.length > 0) return commonJs;
  const places = moduleRequires(import.meta.url);
  const parts = places.flatMap(frameworkParts);
  return [
    ...parts.flatMap((part) => esModule(createRequire(part), part)),
    ...[...places, ...parts.map((part) => createRequire(part))].flatMap((place) => esModule(place, 'openai')),
    ...commonJs,
  ];
}

/** The version of the framework that is installed for the program, or else for this package; null when neither is known. */
export function installedVersion(): string | null {
  for (const place of moduleRequires(import.meta.url).toReversed()) {
    const main = resolveModule(place, '@openai/agents');
    if (main === null) continue;
    // By its path, as the package does not let it be imported.
    const { version } = fieldsOf(createRequire(main)('../package.json'));
    if (typeof version === 'string') return version;
  }
  return null;
}

/** The paths of the framework's part in CommonJS. */
function frameworkParts(place: ModuleRequire): readonly string[] {
  const main = resolveModule(place, '@openai/agents');
  const part = main === null ? resolveModule(place, openAIPart) : resolveModule(createRequire(main), openAIPart);
  return part === null ? [] : [part];
}

/** The form of a package as an ES module, which lies beside the one in CommonJS. */
function esModule(place: ModuleRequire, name: string): readonly unknown[] {
  const commonJs = resolveModule(place, name);
  return commonJs === null ? [] : loadModule(place, commonJs.replace(/\.js$/, '.mjs'));
}

function commonJsCopies(): readonly unknown[] {
  const cache = moduleRequires(import.meta.url)[0]?.cache ?? {};
  const path = /[\\/](@openai[\\/]agents-openai[\\/]dist|openai)[\\/]index\.js$/;
  return Object.entries(cache).flatMap(([file, module]) => (path.test(file) ? [module?.exports] : []));
}

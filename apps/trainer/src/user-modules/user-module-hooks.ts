import { readFileSync } from 'node:fs';
import { type ModuleHooks, type RegisterHooksOptions, registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** User files that are loaded as ES modules although their package says, or defaults to, CommonJS. */
const forcedModules = new Set<string>();

/**
 * Loads user files that use `import` or `export` as ES modules, with the globals of CommonJS where they use those. Modules that
 * are `server-only` are loaded: agents run on a server.
 *
 * There is no permanent `load` hook: with one, Node 22.16 to 22.22.0 and 24.0 to 24.11.0 reject CommonJS modules, whose source
 * the default step does not return.
 */
export const userModuleHooks: RegisterHooksOptions = {
  resolve: (specifier, context, nextResolve) => {
    // Only a bundler resolves it to an empty module; its own throws. A built-in module is one that nothing is read from.
    if (specifier === 'server-only') return { url: 'node:module', format: 'builtin', shortCircuit: true };
    const resolved = nextResolve(specifier, context);
    if (![...context.conditions].includes('import') || !isAmbiguous(resolved.url, resolved.format)) return resolved;
    const source = readFileSync(fileURLToPath(resolved.url), 'utf8');
    if (!hasModuleSyntax(source)) return resolved;
    if (!forcedModules.has(resolved.url)) {
      forcedModules.add(resolved.url);
      const globals = undeclaredGlobals(source);
      if (globals.length > 0) declareGlobals(resolved.url, globals);
    }
    return { ...resolved, format: 'module' };
  },
};

/** Declares globals of CommonJS in a file when it is loaded, which is the step after its first resolution. */
function declareGlobals(target: string, globals: readonly string[]): void {
  const hooks: ModuleHooks = registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (url !== target) return { ...loaded, ...(loaded.source == null ? sourceOf(url) : undefined) };
      hooks.deregister();
      const code =
        typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString();
      // Appended, because imports are hoisted and lines and columns stay those of the source map.
      const source = `${code}\nimport { ${globals.join(', ')} } from ${JSON.stringify(globalsModule(url))};\n`;
      return { ...loaded, source };
    },
  });
}

/** The source of a CommonJS file that is loaded between a resolution and its load. */
function sourceOf(url: string): { readonly source: string } | undefined {
  return url.startsWith('file:') ? { source: readFileSync(fileURLToPath(url), 'utf8') } : undefined;
}

/** Whether a file is user code whose extension leaves open if it is an ES module. */
function isAmbiguous(url: string, format: string | null | undefined): boolean {
  const isCommonJs = format?.startsWith('commonjs') ?? false;
  return isCommonJs && /^file:.*\.[jt]sx?$/.test(url) && !url.includes('/node_modules/');
}

function hasModuleSyntax(source: string): boolean {
  return /^\s*(?:import|export)\b/m.test(source) && !/^\s*(?:module\.)?exports\b/m.test(source);
}

const commonJsGlobals = ['require', '__filename', '__dirname'] as const;

function undeclaredGlobals(source: string): readonly string[] {
  return commonJsGlobals.filter(
    (name) =>
      new RegExp(`\\b${name}\\b`).test(source) &&
      !new RegExp(`\\b(?:const|let|var|function)\\s+${name}\\b`).test(source),
  );
}

/** A module that exports the globals of CommonJS for a file. */
function globalsModule(url: string): string {
  const file = fileURLToPath(url);
  const code = [
    'import { createRequire } from "node:module";',
    `export const require = createRequire(${JSON.stringify(pathToFileURL(file).href)});`,
    `export const __filename = ${JSON.stringify(file)};`,
    `export const __dirname = ${JSON.stringify(path.dirname(file))};`,
  ];
  return `data:text/javascript,${encodeURIComponent(code.join('\n'))}`;
}

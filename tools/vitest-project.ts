import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { extrasOfTests } from './extras/extras.ts';

/**
 * Conditions under which tests resolve packages: as Node does, except that those of the workspace need no build.
 * `import` is not among them: they hold for `require` too, and CommonJS packages would be given modules.
 */
const sourceConditions = ['@agentlightning/source', 'node', 'default'];

/**
 * Disables recompilation of frequent calls from WebAssembly. Node 24 frees what it compiled for them while another thread
 * may still count on it, and the process dies of `jit_page.has_value()` or a segmentation fault
 * (https://github.com/nodejs/node/issues/64500). Threads that are started from TypeScript read it by WebAssembly; those of
 * the built packages do not.
 */
const nodeFlags = ['--wasm-wrapper-tiering-budget=1000000000'];

/** Installs the large packages that the tests of a project need. */
const extrasSetup = fileURLToPath(new URL('extras/extras.ts', import.meta.url));

/**
 * Where Node keeps what it compiled, without types, for the programs that tests start from TypeScript: `agl` begins in a
 * third of the time.
 */
const compileCache = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url));

/** Test settings of a package. */
export interface ProjectOptions {
  /** Files that run once before the tests, named from the package's folder. */
  readonly globalSetup?: readonly string[];
  /**
   * Whether each file of tests has a process to itself, as those need that change what is global to one. Default false:
   * a process goes from file to file, and reads what they share once, which takes longer than most tests do.
   */
  readonly isolate?: boolean;
  /** The files of tests, named from the package's folder. Default: all of them. */
  readonly include?: readonly string[];
  /** Limit of a test, in milliseconds. Default 30,000. */
  readonly testTimeoutMs?: number;
}

/** The vitest configuration shared by every package of this workspace. */
export function projectConfig(name: string, options: ProjectOptions = {}): ReturnType<typeof defineConfig> {
  return defineConfig({
    resolve: { conditions: sourceConditions },
    ssr: { resolve: { conditions: sourceConditions } },
    // Global setup runs in this environment of Vitest.
    environments: { __vitest__: { resolve: { conditions: sourceConditions } } },
    test: {
      name,
      execArgv: nodeFlags,
      // Vitest is in `node_modules` as `agl` is in a project: without a name, commands in texts would depend on the folder.
      env: { NODE_COMPILE_CACHE: compileCache, AGL_COMMAND: 'agl' },
      isolate: options.isolate ?? false,
      // By default Vitest leaves one processor to itself: of two, one. What the workspace's configuration says is not asked.
      maxWorkers: 2,
      include: [...(options.include ?? ['src/**/*.test.ts', 'test/**/*.test.ts'])],
      testTimeout: options.testTimeoutMs ?? 30_000,
      hookTimeout: 30_000,
      globalSetup: [...(name in extrasOfTests ? [extrasSetup] : []), ...(options.globalSetup ?? [])],
    },
  });
}

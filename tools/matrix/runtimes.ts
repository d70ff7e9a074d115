/** A program that runs TypeScript's users' programs, in one version, as an npm package brings it. */
export interface MatrixRuntime {
  /** As in a column of the table and in `--on`. */
  readonly name: string;
  /** The npm package that carries the program for this machine, with its version. */
  readonly package: { readonly name: string; readonly version: string };
  /** Where the program is in that package. */
  readonly program: string;
  /** Whether it is the first version that `engines` allow. It plays current frameworks only. @default false */
  readonly isLowest?: boolean;
  /** What stands between the program and the file to run. */
  readonly flags: readonly string[];
}

/** How user code is loaded. Ours are ES modules; CommonJS gets them by `require`. */
export const moduleFormats = ['esm', 'cjs'] as const;

export type ModuleFormat = (typeof moduleFormats)[number];

const { platform, arch } = process;

const node = (version: string): MatrixRuntime => ({
  name: `node${version.split('.', 1)}`,
  package: { name: `node-${platform}-${arch}`, version },
  program: 'bin/node',
  flags: [],
});

const bunArch = arch === 'arm64' ? 'aarch64' : arch;
const denoPlatform = platform === 'linux' ? `linux-${arch}-glibc` : `${platform}-${arch}`;

/** The runtime of `verify`, and of bundles. */
export const mainRuntime: MatrixRuntime = node('24.21.0');

/** What the adapters run on. The exact versions are those that the contract was last played on. */
export const runtimes: readonly MatrixRuntime[] = [
  { ...node('22.12.0'), name: 'node22.12', isLowest: true },
  node('22.23.3'),
  mainRuntime,
  node('26.10.0'),
  {
    name: 'bun',
    package: { name: `@oven/bun-${platform}-${bunArch}`, version: '1.4.5' },
    program: 'bin/bun',
    flags: [],
  },
  {
    name: 'deno',
    package: { name: `@deno/${denoPlatform}`, version: '2.9.6' },
    program: 'deno',
    flags: ['run', '--allow-all', '--no-prompt'],
  },
];

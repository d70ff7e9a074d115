/** A TypeScript runtime in one version, installed from an npm package. */
export interface MatrixRuntime {
  /** The name in columns and in `--on`. */
  readonly name: string;
  /** The npm package with the program for this machine, and its version. */
  readonly package: { readonly name: string; readonly version: string };
  /** The path of the program in that package. */
  readonly program: string;
  /** Whether it is the first version that `engines` allow. It runs current frameworks only. @default false */
  readonly isLowest?: boolean;
  /** Flags before the file to run. */
  readonly flags: readonly string[];
}

/** The module formats of user code. The packages are ES modules; CommonJS code loads them by `require`. */
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

/** The runtime of `verify` and of bundled programs. */
export const mainRuntime: MatrixRuntime = node('24.21.0');

/** The supported runtimes. The exact versions are those of the last matrix run. */
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

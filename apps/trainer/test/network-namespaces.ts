import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';

/** Two network namespaces of Linux that a virtual cable joins, like two machines. */
export class NetworkNamespaces implements Disposable {
  /** The addresses of the namespaces on the cable. */
  readonly addresses = ['10.203.77.1', '10.203.77.2'] as const;
  readonly #names: readonly [string, string];

  private constructor(names: readonly [string, string]) {
    this.#names = names;
  }

  /** Creates them; returns the reason where this machine cannot: another system, or no right to. */
  static create(): NetworkNamespaces | string {
    const id = randomBytes(3).toString('hex');
    const names = [`agl-${id}-a`, `agl-${id}-b`] as const;
    const pair = new NetworkNamespaces(names);
    try {
      for (const name of names) ip('netns', 'add', name);
      ip('link', 'add', `agl${id}a`, 'netns', names[0], 'type', 'veth', 'peer', 'name', `agl${id}b`, 'netns', names[1]);
      for (const [index, name] of names.entries()) {
        const device = `agl${id}${index === 0 ? 'a' : 'b'}`;
        ip('-n', name, 'addr', 'add', `${pair.addresses[index]}/24`, 'dev', device);
        ip('-n', name, 'link', 'set', device, 'up');
        ip('-n', name, 'link', 'set', 'lo', 'up');
      }
      return pair;
    } catch (error) {
      pair[Symbol.dispose]();
      return `this machine cannot create network namespaces: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** The command that runs another one in the first or second namespace. */
  within(index: 0 | 1): readonly string[] {
    return ['ip', 'netns', 'exec', this.#names[index]];
  }

  [Symbol.dispose](): void {
    for (const name of this.#names) spawnSync('ip', ['netns', 'del', name]);
  }
}

function ip(...args: readonly string[]): void {
  const { error, status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr.trim()}`);
}

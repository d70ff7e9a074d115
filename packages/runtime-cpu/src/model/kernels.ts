import { readFileSync } from 'node:fs';
import { packageFile } from '../package-files.ts';

/** The address of an array in the memory of the kernels. */
export type Address = number;

/** The functions of `kernels/transformer.ts`, which describes them. */
interface KernelFunctions {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => number };
  readonly heapBase: () => Address;
  readonly multiply: Operation;
  readonly multiplyAdd: Operation;
  readonly multiplyTransposedAdd: Operation;
  readonly transpose: Operation;
  readonly gather: Operation;
  readonly scatterAdd: Operation;
  readonly normalize: Operation;
  readonly normalizeBackward: Operation;
  readonly rotate: Operation;
  readonly attend: Operation;
  readonly attendBackward: Operation;
  readonly gated: Operation;
  readonly gatedBackward: Operation;
  readonly scoreTargets: Operation;
  readonly scoreTargetsBackward: Operation;
}

type Operation = (...operands: number[]) => void;

/** What is used of WebAssembly, of which the types are those of browsers. */
interface WebAssemblyGlobal {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}

const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: WebAssemblyGlobal }).WebAssembly;

let compiled: object | null = null;

function compiledKernels(): object {
  compiled ??= new Module(readFileSync(packageFile('src/gen/transformer.wasm')));
  return compiled;
}

/** A separate memory for arrays, and the arithmetic on them. All arrays are freed at once. */
export class Kernels {
  readonly run: KernelFunctions;
  #free: Address;

  constructor() {
    this.run = new Instance(compiledKernels(), {}).exports as KernelFunctions;
    this.#free = this.run.heapBase();
  }

  /** Reserves space for float32 or int32 numbers. Their content is arbitrary. Earlier views become invalid. */
  allocate(count: number): Address {
    const address = Math.ceil(this.#free / 16) * 16;
    this.#free = address + 4 * count;
    const { memory } = this.run;
    const missing = this.#free - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65_536));
    return address;
  }

  /** What is reserved so far, for {@link release}. */
  get mark(): Address {
    return this.#free;
  }

  /** Frees what was reserved after a mark. */
  release(mark: Address): void {
    this.#free = mark;
  }

  /** Frees everything. */
  clear(): void {
    this.#free = this.run.heapBase();
  }

  /** A view of floats, until the next allocation. */
  floats(address: Address, count: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.run.memory.buffer, address, count);
  }

  /** A view of integers, until the next allocation. */
  integers(address: Address, count: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.run.memory.buffer, address, count);
  }

  /** Reserves space for floats and copies them. */
  copyFloats(values: ArrayLike<number>): Address {
    const address = this.allocate(values.length);
    this.floats(address, values.length).set(values);
    return address;
  }

  /** Reserves space for integers and copies them. */
  copyIntegers(values: ArrayLike<number>): Address {
    const address = this.allocate(values.length);
    this.integers(address, values.length).set(values);
    return address;
  }

  /** Reserves floats of 0. */
  zeros(count: number): Address {
    const address = this.allocate(count);
    this.floats(address, count).fill(0);
    return address;
  }
}

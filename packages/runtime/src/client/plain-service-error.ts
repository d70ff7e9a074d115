import { Metadata, type ServiceError } from '@grpc/grpc-js';

/** An error of grpc-js in plain values, for the way between two threads. */
export interface PlainServiceError {
  readonly message: string;
  readonly code: number;
  readonly details: string;
  readonly metadata: readonly (readonly [name: string, value: string | Uint8Array])[];
}

/** Takes an error of grpc-js to pieces. */
export function toPlainError({ message, code, details, metadata }: ServiceError): PlainServiceError {
  const names = Object.keys(metadata.getMap());
  const entries = names.flatMap((name) => metadata.get(name).map((value) => [name, value] as const));
  return { message, code, details, metadata: entries };
}

/** The error as grpc-js would have thrown it here. */
export function toServiceError({ message, code, details, metadata: entries }: PlainServiceError): ServiceError {
  const metadata = new Metadata();
  for (const [name, value] of entries) metadata.add(name, typeof value === 'string' ? value : Buffer.from(value));
  return Object.assign(new Error(message), { code, details, metadata });
}

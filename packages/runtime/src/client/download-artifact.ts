import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ArtifactInfo } from '../gen/agentlightning/runtime/v1/artifact_pb.ts';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { type RuntimeLink, untimed } from './runtime-link.ts';

/** The result of an export; downloadable while the runtime keeps the operation's result. */
export interface ExportedArtifact {
  /** Opaque; pass the whole object to download it. */
  readonly artifactId: string;
  /** The files of the artifact. */
  readonly files: readonly {
    /** Path within the export, with `/`. */
    readonly path: string;
    readonly sizeBytes: number;
    /** Hexadecimal. */
    readonly sha256: string;
  }[];
  /** Number of optimizer steps in the weights. */
  readonly step: number;
}

/** Converts an export to the public type. */
export function decodeArtifact({ artifactId, files, step }: ArtifactInfo): ExportedArtifact {
  return {
    artifactId,
    files: files.map((file) => ({
      path: file.path,
      sizeBytes: Number(file.sizeBytes),
      sha256: Buffer.from(file.sha256).toString('hex'),
    })),
    step,
  };
}

/** Options of a download. */
export interface DownloadOptions {
  readonly modelId: string;
  readonly artifact: ExportedArtifact;
  /** The folder for the files; created if missing. */
  readonly directory: string;
}

/**
 * Downloads the files of an export to a folder and verifies them.
 *
 * @returns the paths written
 * @throws RuntimeError INTERNAL when a file differs from the runtime's description
 */
export async function downloadArtifact(link: RuntimeLink, options: DownloadOptions): Promise<readonly string[]> {
  const written: string[] = [];
  for (const file of options.artifact.files) {
    const target = targetOf(options.directory, file.path);
    await mkdir(path.dirname(target), { recursive: true });
    await downloadFile(link, { ...options, from: file.path, target });
    const found = await sha256Of(target);
    if (found !== file.sha256) throw damaged(file.path, `has SHA-256 ${found}; expected ${file.sha256}`);
    written.push(target);
  }
  return written;
}

async function downloadFile(
  link: RuntimeLink,
  { modelId, artifact, from, target }: DownloadOptions & { readonly from: string; readonly target: string },
): Promise<void> {
  const file = await open(target, 'w');
  let offset = 0;
  try {
    // Received bytes are kept when the connection is lost.
    await link.policy.run(async () => {
      const request = { modelId, artifactId: artifact.artifactId, path: from, offset: BigInt(offset) };
      for await (const { data } of link.training.downloadArtifact(request, untimed)) {
        await file.write(data, 0, data.byteLength, offset);
        offset += data.byteLength;
      }
    });
  } finally {
    await file.close();
  }
}

/** The local path of a file; always inside the folder. */
function targetOf(directory: string, name: string): string {
  const root = path.resolve(directory);
  const target = path.resolve(root, name);
  if (target.startsWith(root + path.sep)) return target;
  throw damaged(name, 'is not a path within the export');
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function damaged(name: string, what: string): RuntimeError {
  return new RuntimeError({ reason: ErrorReason.INTERNAL, message: `The exported file "${name}" ${what}` });
}

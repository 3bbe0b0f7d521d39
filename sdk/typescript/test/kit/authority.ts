/** Certificates for tests, made by the `openssl` of this machine. */
import { execFileSync } from "node:child_process";

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

const openssl = (...words: string[]): unknown => execFileSync("openssl", words, { stdio: "ignore" });

/** A private authority and what it signed, as PEM files. */
export class Authority {
  readonly ca: string;
  private readonly key: string;

  constructor(
    private readonly folder: string,
    private readonly name = "ours",
  ) {
    [this.ca, this.key] = [`${folder}/${name}-ca.pem`, `${folder}/${name}-ca.key`];
    openssl("req", "-x509", ...KEY, "-keyout", this.key, "-out", this.ca, "-subj", `/CN=${name}`, "-days", "2");
  }

  issue(host: string, days = 1): { cert: string; key: string } {
    const [cert, key] = [`${this.folder}/${this.name}-${host}.pem`, `${this.folder}/${this.name}-${host}.key`];
    const name = `subjectAltName=${/^[\d.]+$/.test(host) ? "IP" : "DNS"}:${host}`;
    openssl("req", "-new", ...KEY, "-keyout", key, "-out", `${cert}.csr`, "-subj", `/CN=${host}`, "-addext", name);
    const by = ["-CA", this.ca, "-CAkey", this.key, "-CAcreateserial", "-copy_extensions", "copyall"];
    openssl("x509", "-req", "-in", `${cert}.csr`, ...by, "-days", String(days), "-out", cert);
    return { cert, key };
  }
}

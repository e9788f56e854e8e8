// The bundler turns style sheets into texts.
declare module "*.css" {
  const text: string;
  export default text;
}

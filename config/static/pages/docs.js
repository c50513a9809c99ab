// Shows the OpenAPI document with Redoc.
"use strict";

// Redoc shows its maker's logo from another host, from which this page loads nothing.
document.createElement = function (name, ...options) {
  return Document.prototype.createElement.call(document, name === "img" ? "span" : name, ...options);
};

document.addEventListener("DOMContentLoaded", () => {
  const page = document.getElementById("docs");
  const font = "Inter, sans-serif";
  Redoc.init(
    page.dataset.document,
    {
      disableSearch: true, // it would need a worker made from text
      nativeScrollbars: true,
      hideLoading: true,
      theme: { typography: { fontFamily: font, headings: { fontFamily: font } } },
    },
    page,
  );
});
